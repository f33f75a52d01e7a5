import Foundation
import TernCore

/// A file that is open to be appended to, by nobody else on this machine.
package final class AppendedFile {
  /// Which file it is, whatever its name.
  package let identity: FileIdentity
  private let descriptor: CInt
  private let path: String
  private let durable: DurableFile

  /// Makes the file where there is none.
  ///
  /// - Returns: `nil` when somebody else appends to it.
  /// - Throws: ``FileFailure``.
  package static func attempt(_ path: String, _ durable: DurableFile) throws -> AppendedFile? {
    let flags = O_RDWR | O_NOFOLLOW | O_CLOEXEC
    var descriptor = open(path, flags | O_CREAT | O_EXCL, OwnerOnly.file)
    if descriptor < 0, errno == EEXIST { descriptor = open(path, flags) }
    guard descriptor >= 0 else { throw FileFailure("opening a file") }
    let file = try AppendedFile(descriptor, path, durable)
    return try file.lock() ? file : nil
  }

  private init(_ descriptor: CInt, _ path: String, _ durable: DurableFile) throws {
    do { identity = try FileIdentity(descriptor) } catch {
      close(descriptor)
      throw error
    }
    (self.descriptor, self.path, self.durable) = (descriptor, path, durable)
  }

  deinit {
    close(descriptor)
  }

  private func lock() throws -> Bool {
    while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
      switch errno {
      case EINTR: continue
      case EWOULDBLOCK: return false
      // Not every file system that a network brings can lock.
      case ENOLCK, EOPNOTSUPP, ENOSYS: return true
      default: throw FileFailure("locking a file")
      }
    }
    return true
  }

  /// Puts bytes where the first `count` bytes end, in place of what follows them. When it returns
  /// they are durable; when it throws the file ends there, as far as the disk lets it.
  ///
  /// - Parameter isNamed: whether the file's name is known to be durable. That the file was there
  ///   does not say so: who made it may have failed before that, or died.
  /// - Throws: ``FileFailure``.
  package func append(_ bytes: [UInt8], after count: Int, isNamed: Bool) throws {
    // What a writer left that died in the middle.
    guard ftruncate(descriptor, off_t(count)) == 0 else { throw FileFailure("cutting a file") }
    do {
      guard lseek(descriptor, off_t(count), SEEK_SET) == off_t(count) else {
        throw FileFailure("positioning in a file")
      }
      try bytes.withUnsafeBytes { try durable.writeAll($0, to: descriptor) }
      if !Planted.isActive(.appendUnsynced) { try durable.sync(descriptor) }
      if !isNamed { try durable.syncFolder(of: path) }
    } catch {
      // A reader leaves out what is not whole, so nothing depends on this.
      _ = ftruncate(descriptor, off_t(count))
      throw error
    }
  }

  /// Whether the path still leads here, and not to a file that took its place.
  package var isInPlace: Bool {
    var status = stat()
    return lstat(path, &status) == 0 && FileIdentity(status).isSameFile(as: identity)
  }
}

/// Which file it is, and which of its contents: a change of those is a change of this.
package struct FileIdentity: Hashable, Sendable {
  package let device: UInt64
  package let node: UInt64
  package let byteCount: Int
  package let modified: Int
  package let isRegular: Bool

  init(_ status: stat) {
    device = UInt64(truncatingIfNeeded: status.st_dev)
    node = UInt64(truncatingIfNeeded: status.st_ino)
    byteCount = Int(status.st_size)
    #if canImport(Darwin)
    let time = status.st_mtimespec
    #else
    let time = status.st_mtim
    #endif
    modified = Int(time.tv_sec) &* 1_000_000_000 &+ Int(time.tv_nsec)
    isRegular = status.st_mode & S_IFMT == S_IFREG
  }

  init(_ descriptor: CInt) throws {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw FileFailure("looking at a file") }
    self.init(status)
  }

  package func isSameFile(as other: FileIdentity) -> Bool {
    (device, node) == (other.device, other.node)
  }
}
