import CTranslatePages
import ExamplePages

extension PageFiles {
  /// The page of `translate serve`, with the kit that all pages have.
  static var translate: PageFiles {
    var files = PageFiles()
    files.add(embedded: { index in
      translate_page_file(index).map {
        ($0.pointee.name, $0.pointee.type, $0.pointee.bytes, $0.pointee.count)
      }
    })
    return files
  }
}
