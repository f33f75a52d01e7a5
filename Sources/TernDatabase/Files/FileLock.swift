import Foundation

/// A kernel lock on a file: it ends with this value or with the process, however that ends, and
/// two of one process exclude each other as those of two do.
package final class FileLock: Sendable {
  private let descriptor: CInt

  private init(descriptor: CInt) {
    self.descriptor = descriptor
  }

  deinit {
    close(descriptor)
  }

  /// Makes the file where there is none.
  ///
  /// - Returns: `nil` when somebody else holds the lock.
  /// - Throws: ``FileFailure``.
  package static func attempt(_ path: String) throws -> FileLock? {
    let lock = try opened(path)
    guard try lock.attempt() else { return nil }
    // Removed between the two, it is nobody's.
    return lock.isOf(path) ? lock : nil
  }

  /// Takes the lock of a file that is open, unless somebody else has it.
  ///
  /// - Throws: ``FileFailure``.
  package func attempt() throws -> Bool {
    while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
      if errno == EWOULDBLOCK { return false }
      if errno != EINTR { throw FileFailure("locking a file") }
    }
    return true
  }

  /// ``attempt(_:)`` that waits, blocking the thread.
  package static func wait(_ path: String) throws -> FileLock {
    let lock = try opened(path)
    while flock(lock.descriptor, LOCK_EX) != 0 {
      if errno != EINTR { throw FileFailure("locking a file") }
    }
    return lock
  }

  /// A lock that nobody holds yet by this value.
  ///
  /// - Throws: ``FileFailure``.
  package static func opened(_ path: String) throws -> FileLock {
    let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw FileFailure("opening a lock file") }
    return FileLock(descriptor: descriptor)
  }
}

extension FileLock {
  /// Whether this is the lock of the file that is at a path now, and not of one that was removed.
  package func isOf(_ path: String) -> Bool {
    var (own, other) = (stat(), stat())
    return fstat(descriptor, &own) == 0 && stat(path, &other) == 0
      && own.st_ino == other.st_ino && own.st_dev == other.st_dev
  }

  /// Whether somebody holds the lock; makes no file.
  ///
  /// Holds it for a moment where nobody does.
  /// - Throws: ``FileFailure``.
  package static func isHeld(_ path: String) throws -> Bool {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else {
      if errno == ENOENT || errno == ENOTDIR { return false }
      throw FileFailure("opening a lock file")
    }
    defer { close(descriptor) }
    while flock(descriptor, LOCK_SH | LOCK_NB) != 0 {
      if errno == EWOULDBLOCK { return true }
      if errno != EINTR { throw FileFailure("looking at a lock") }
    }
    return false
  }
}
