#if Server
import CTernPages
import TernPages

extension PageFiles {
  /// Of the page of `tern inspect --serve`, with the kit's.
  static var inspect: PageFiles {
    var files = PageFiles()
    for source in [tern_kit_file, tern_inspect_file] {
      files.add(embedded: { index in
        source(index).map { ($0.pointee.name, $0.pointee.type, $0.pointee.bytes, $0.pointee.count) }
      })
    }
    return files
  }
}
#endif
