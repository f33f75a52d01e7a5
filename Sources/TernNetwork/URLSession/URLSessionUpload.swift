#if canImport(Darwin) || Rehearsal
import Foundation

/// A body with files, copied into one: URLSession announces the length of a file and not of a
/// stream. The copy is removed when this is released.
///
/// - Important: Not verified: no Apple machine has run it yet.
final class URLSessionUpload: Sendable {
  let url: URL

  /// - Throws: ``HTTPError`` when a file can't be read or the copy not be written.
  init(_ source: BodySource, origin: HTTPOrigin) throws(HTTPError) {
    let folder = FileManager.default.temporaryDirectory
    var template = Array(folder.appending(path: "tern-upload-XXXXXX").path.utf8CString)
    let descriptor = mkstemp(&template)
    guard descriptor >= 0 else { throw BodySource.copyFailure(origin) }
    defer { close(descriptor) }
    let path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    url = URL(filePath: path)
    do throws(HTTPError) {
      try source.copy(to: descriptor, origin)
    } catch {
      // Nobody else knows of it.
      unlink(path)
      throw error
    }
  }

  deinit {
    unlink(url.path)
  }
}
#endif
