#if Server
import CTernPages
import TernPages
import TernServer

extension PageFiles {
  /// Of the page of `tern inspect --serve`, with the kit's.
  static var inspect: PageFiles {
    var files = PageFiles()
    files.add(tern_kit_file)
    files.add(tern_inspect_file)
    return files
  }
}
#endif
