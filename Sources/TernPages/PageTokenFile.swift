#if Server
import Foundation

/// A file of its owner's that keeps a page's token, so that the page goes on when its program is
/// started again. Whoever deletes the file has another one drawn.
package struct PageTokenFile: Sendable {
  private let path: String

  /// - Parameter database: whose page it is. The file stands beside it.
  package init(beside database: String) {
    path = "\(database).page-token"
  }

  /// The token in the file, or else a new one, which the file has from now on.
  ///
  /// What others could have read or written is none: it is replaced.
  ///
  /// - Throws: ``PageTokenError``.
  package func token(using generator: inout some RandomNumberGenerator) throws -> PageToken {
    if let kept { return kept }
    let token = PageToken(using: &generator)
    let part = "\(path).\(getpid()).part"
    // Of a program that died there, and had the same number.
    unlink(part)
    let file = open(part, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard file >= 0 else {
      throw PageTokenError(path: path, reason: String(cString: strerror(errno)))
    }
    let line = Array("\(token.text)\n".utf8)
    let count = write(file, line, line.count)
    let isWritten = count == line.count && fsync(file) == 0
    let code = errno
    close(file)
    guard isWritten, rename(part, path) == 0 else {
      let code = isWritten ? errno : code
      unlink(part)
      throw PageTokenError(path: path, reason: String(cString: strerror(code)))
    }
    return token
  }

  private var kept: PageToken? {
    let file = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
    guard file >= 0 else { return nil }
    defer { close(file) }
    var status = stat()
    guard fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
      status.st_uid == geteuid(), status.st_mode & 0o077 == 0
    else { return nil }
    var bytes = [UInt8](repeating: 0, count: 100)
    let count = read(file, &bytes, bytes.count)
    guard count > 0 else { return nil }
    return PageToken(text: String(decoding: bytes.prefix(count), as: UTF8.self))
  }
}

/// Why a page's token can't be kept.
package struct PageTokenError: Error, Hashable, CustomStringConvertible {
  package let path: String
  /// What the system said.
  package let reason: String

  package var description: String {
    """
    the token of the page can't be kept in \(path): \(reason); free space there, or make the folder \
    one that you may write to
    """
  }
}
#endif
