import Foundation

package enum CatalogueFile {
  /// That of the library, which is an example too: there where this was built.
  package static var sample: String? {
    let examples = (0..<4).reduce(URL(filePath: #filePath)) { url, _ in
      url.deletingLastPathComponent()
    }
    let path = examples.appending(path: "Library/catalogue.csv").path
    return FileManager.default.isReadableFile(atPath: path) ? path : nil
  }
}
