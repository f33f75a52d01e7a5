#if Server
import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import NIOPosix

/// A file that a page sends, on its way to the program. In memory there is no more of it than a
/// part.
struct PageUpload: Sendable {
  let file: URL
  private let descriptor: CInt

  /// Makes an empty file that only its owner may read. Whoever has it must ``remove()`` it.
  ///
  /// - Throws: ``PageGuard/Refusal``.
  init() throws {
    let folder = FileManager.default.temporaryDirectory
    var path = Array(folder.appending(path: "tern-page-XXXXXX").path.utf8CString)
    descriptor = mkstemp(&path)
    guard descriptor >= 0 else { throw Self.refusal(errno) }
    let bytes = path.dropLast().map(UInt8.init(bitPattern:))
    file = URL(filePath: String(decoding: bytes, as: UTF8.self))
  }

  func remove() {
    close(descriptor)
    unlink(file.path)
  }

  /// - Throws: ``PageGuard/Refusal``, and what ended the connection.
  func take(_ request: Request, mostBytes: Int) async throws {
    guard request.headers[.contentType] == "application/octet-stream" else {
      throw PageGuard.Refusal(
        status: .unsupportedMediaType, message: "a file is sent as application/octet-stream")
    }
    let tooLong = PageGuard.Refusal(
      status: .contentTooLarge,
      message: "the file has more than \(mostBytes >> 20) MB; make it smaller")
    let said = request.headers[.contentLength].flatMap { Int($0) } ?? 0
    guard said <= mostBytes else { throw tooLong }
    var count = 0
    for try await part in request.body {
      count += part.readableBytes
      guard count <= mostBytes else { throw tooLong }
      // A disk may let a thread wait.
      let number = try await NIOThreadPool.singleton.runIfActive { write(part) }
      guard number == 0 else { throw Self.refusal(number) }
    }
  }

  /// - Returns: the number of an error, or 0.
  private func write(_ part: ByteBuffer) -> CInt {
    part.withUnsafeReadableBytes { bytes in
      var left = bytes
      while !left.isEmpty {
        let count = Foundation.write(descriptor, left.baseAddress, left.count)
        if count < 0, errno == EINTR { continue }
        guard count > 0 else { return errno }
        left = UnsafeRawBufferPointer(rebasing: left[count...])
      }
      return 0
    }
  }

  private static func refusal(_ number: CInt) -> PageGuard.Refusal {
    let message = "the file can't be stored: \(String(cString: strerror(number)))"
    // There may be room again.
    if [ENOSPC, EDQUOT, EIO].contains(number) {
      let status = HTTPResponse.Status(code: 507, reasonPhrase: "Insufficient Storage")
      return PageGuard.Refusal(status: status, message: message, code: "disk", passes: true)
    }
    return PageGuard.Refusal(status: .internalServerError, message: message, code: "failed")
  }
}
#endif
