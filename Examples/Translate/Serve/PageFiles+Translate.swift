import CTranslatePages
import ExamplePages

extension PageFiles {
  /// The page of `translate serve`, with the kit that all pages have.
  static var translate: PageFiles {
    var files = PageFiles()
    var index = 0
    while let file = translate_page_file(index)?.pointee {
      files.add(
        String(cString: file.name), type: String(cString: file.type),
        UnsafeRawBufferPointer(start: file.bytes, count: file.count))
      index += 1
    }
    return files
  }
}
