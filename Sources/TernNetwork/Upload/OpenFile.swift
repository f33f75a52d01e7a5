import Foundation

/// A file that is open for reading, as it was when it was opened.
final class OpenFile: Sendable {
  private struct Version: Hashable {
    var byteCount: Int
    var seconds: Int
    var nanoseconds: Int
  }

  private let descriptor: Int32
  private let version: Version
  var byteCount: Int { version.byteCount }

  /// - Throws: ``HTTPError`` without an origin, with ``HTTPError/Code/fileMissing`` or
  ///   ``HTTPError/Code/fileUnreadable``. No path is named.
  init(_ path: String) throws(HTTPError) {
    // Opening a pipe would wait for its writer.
    let flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK
    var descriptor = open(path, flags)
    while descriptor < 0, errno == EINTR { descriptor = open(path, flags) }
    guard descriptor >= 0 else {
      let isMissing = errno == ENOENT || errno == ENOTDIR
      throw Self.failure(isMissing ? .fileMissing : .fileUnreadable)
    }
    do throws(HTTPError) {
      version = try Self.version(of: descriptor)
    } catch {
      close(descriptor)
      throw error
    }
    self.descriptor = descriptor
  }

  deinit {
    close(descriptor)
  }

  /// Reads until the room is full.
  ///
  /// - Throws: ``HTTPError`` with ``HTTPError/Code/fileChanged`` when the file ends before, or is
  ///   not what it was when it was opened; ``HTTPError/Code/fileUnreadable``.
  func read(at offset: Int, into room: UnsafeMutableRawBufferPointer) throws(HTTPError) {
    var filled = 0
    while filled < room.count {
      let rest = UnsafeMutableRawBufferPointer(rebasing: room[filled...])
      let count = pread(descriptor, rest.baseAddress, rest.count, off_t(offset + filled))
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw Self.failure(.fileUnreadable) }
      guard count > 0 else { throw HTTPError(.fileChanged, origin: nil, "it ended early") }
      filled += count
    }
    guard try Self.version(of: descriptor) == version else {
      throw HTTPError(.fileChanged, origin: nil, "somebody wrote to it while it was sent")
    }
  }

  private static func version(of descriptor: Int32) throws(HTTPError) -> Version {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw failure(.fileUnreadable) }
    guard status.st_mode & S_IFMT == S_IFREG else {
      throw HTTPError(.fileUnreadable, origin: nil, "it is not a file with content")
    }
    #if canImport(Darwin)
    let modified = status.st_mtimespec
    #else
    let modified = status.st_mtim
    #endif
    return Version(
      byteCount: Int(status.st_size), seconds: modified.tv_sec, nanoseconds: modified.tv_nsec)
  }

  private static func failure(_ code: HTTPError.Code) -> HTTPError {
    HTTPError(code, origin: nil, String(cString: strerror(errno)))
  }
}
