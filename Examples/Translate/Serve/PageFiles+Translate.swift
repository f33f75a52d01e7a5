import CTranslatePages
import ExamplePages
import ExampleWork

extension PageFiles {
  /// The page of `translate serve`, with the kit that all pages have.
  static let translate = PageFiles { index in
    translate_page_file(index).map {
      ($0.pointee.name, $0.pointee.type, $0.pointee.bytes, $0.pointee.count)
    }
  }
}
