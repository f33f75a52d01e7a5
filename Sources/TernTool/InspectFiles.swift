#if Server
import CTernPages
import TernPages

extension PageFiles {
  /// Of the page of `tern inspect --serve`, with the kit's.
  static var inspect: PageFiles {
    var files = PageFiles()
    for source in [tern_kit_file, tern_inspect_file] {
      var index = 0
      while let file = source(index)?.pointee {
        files.add(
          String(cString: file.name), type: String(cString: file.type),
          UnsafeRawBufferPointer(start: file.bytes, count: file.count))
        index += 1
      }
    }
    return files
  }
}
#endif
