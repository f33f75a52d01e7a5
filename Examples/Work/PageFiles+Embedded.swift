import ExamplePages

extension PageFiles {
  /// - Parameter file: what a C target embeds; `nil` behind the last one.
  package init(embedded file: (Int) -> Embedded?) {
    self.init()
    add(embedded: file)
  }
}
