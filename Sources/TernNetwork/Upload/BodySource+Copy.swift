import Foundation

extension BodySource {
  /// Writes the whole body to an open file.
  ///
  /// - Throws: ``HTTPError`` when a file of it can't be read or the copy not be written.
  func copy(to descriptor: Int32, _ origin: HTTPOrigin?) throws(HTTPError) {
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 16)
    defer { buffer.deallocate() }
    var position = 0
    while position < byteCount {
      let count = try read(at: position, into: buffer)
      var written = 0
      while written < count {
        let part = write(descriptor, buffer.baseAddress! + written, count - written)
        if part < 0, errno == EINTR { continue }
        guard part >= 0 else { throw Self.copyFailure(origin) }
        written += part
      }
      position += count
    }
  }

  static func copyFailure(_ origin: HTTPOrigin?) -> HTTPError {
    let reason = String(cString: strerror(errno))
    return HTTPError(.fileUnreadable, origin: origin, "no copy can be written: \(reason)")
  }
}

extension MultipartForm {
  /// Writes the form as it is sent, in place of a file that is there: for what sends files alone,
  /// as ``BackgroundTransfers`` do. The request's `Content-Type` is ``contentType``.
  ///
  /// - Throws: ``HTTPError`` when the form can't be sent as it stands, a file of it is missing or
  ///   can't be read, or the copy can't be written; what was written until then stays.
  public func write(to file: URL) throws(HTTPError) {
    try validate(nil)
    let source = try BodySource(segments, origin: nil)
    let descriptor = open(
      file.path(percentEncoded: false), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw BodySource.copyFailure(nil) }
    defer { close(descriptor) }
    try source.copy(to: descriptor, nil)
  }
}
