#if Server
#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// Keeps a second server process from a data file, until it is released or the process ends.
///
/// Two processes that write and checkpoint one file can damage it with SQLite before 3.51.3. The
/// lock is on a file of its own: closing any descriptor of the data file would drop SQLite's own
/// locks.
public struct ServingLock: Sendable {
  private let descriptor: Int32

  /// - Throws: ``StoreError``, of a file that is no server's data too; that one stays untouched.
  public init(dataPath: String) throws {
    let file = ServerFile(path: dataPath)
    _ = try file.holdsStore()
    let path = file.path + "-serving"
    descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else {
      throw StoreError(.inaccessible, "\(path) can't be made; check the folder's permissions")
    }
    guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
      close(descriptor)
      throw StoreError(.inUse, "another server serves \(dataPath); stop it first")
    }
  }

  /// Lets another process serve the file.
  public func release() {
    close(descriptor)
  }
}
#endif
