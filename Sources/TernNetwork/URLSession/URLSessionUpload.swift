#if canImport(Darwin) || Rehearsal
import Foundation

/// A body with files, copied into one: URLSession announces the length of a file and not of a
/// stream. The copy is removed when this is released.
///
/// - Important: Not verified: no Apple machine has run it yet.
final class URLSessionUpload: Sendable {
  let url: URL

  /// - Throws: ``HTTPError`` when a file can't be read or the copy not be written.
  init(_ source: BodySource, origin: Origin) throws(HTTPError) {
    let folder = FileManager.default.temporaryDirectory
    var template = Array(folder.appending(path: "tern-upload-XXXXXX").path.utf8CString)
    let descriptor = mkstemp(&template)
    guard descriptor >= 0 else { throw Self.failure(origin) }
    defer { close(descriptor) }
    let path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    url = URL(filePath: path)
    do throws(HTTPError) {
      try Self.copy(source, to: descriptor, origin)
    } catch {
      // Nobody else knows of it.
      unlink(path)
      throw error
    }
  }

  deinit {
    unlink(url.path)
  }

  private static func copy(
    _ source: BodySource, to descriptor: Int32, _ origin: Origin
  ) throws(HTTPError) {
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 16)
    defer { buffer.deallocate() }
    var position = 0
    while position < source.byteCount {
      let count = try source.read(at: position, into: buffer)
      var written = 0
      while written < count {
        let part = write(descriptor, buffer.baseAddress! + written, count - written)
        if part < 0, errno == EINTR { continue }
        guard part >= 0 else { throw failure(origin) }
        written += part
      }
      position += count
    }
  }

  private static func failure(_ origin: Origin) -> HTTPError {
    let reason = String(cString: strerror(errno))
    return HTTPError(.fileUnreadable, origin: origin, "no copy for the system: \(reason)")
  }
}
#endif
