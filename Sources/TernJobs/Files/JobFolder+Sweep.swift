import Foundation
import GRDB
import TernCore
import TernDatabase

extension JobFolder {
  /// Names an opening, and keeps nothing of it.
  struct Opening {
    let root: String
    let session: String

    /// Removes the root with all that is in it, unless other openings still have
    /// their folders there.
    func removeRoot() throws {
      // Who opens it now keeps it.
      guard let lock = try FileLock.attempt("\(root)/\(JobFolder.rootLockName)") else { return }
      defer { withExtendedLifetime(lock) {} }
      if try JobFolder.isOpen(root, but: session) { return }
      try FileManager.default.removeItem(atPath: root)
    }
  }

  /// Whether a process that lives has an opening's folder in the root.
  ///
  /// - Parameter own: the name of one that is not looked at.
  static func isOpen(_ root: String, but own: String? = nil) throws -> Bool {
    try FileManager.default.contentsOfDirectory(atPath: root).contains { session in
      let lock = "\(root)/\(session)/\(lockName)"
      guard session != own, isName(session), access(lock, F_OK) == 0 else { return false }
      return try FileLock.attempt(lock) == nil
    }
  }

  /// Removes what the dead left to nobody, one folder after the other.
  ///
  /// - Returns: what the system refused. The next opening tries that again.
  static func sweep(
    _ root: String, _ named: (String) throws -> Set<String>
  ) throws -> [any Error] {
    if Planted.isActive(.sweepForgotten) { return [] }
    var failures: [any Error] = []
    for session in try FileManager.default.contentsOfDirectory(atPath: root).sorted()
    where isName(session) {
      do {
        try sweep(session, in: root, named)
      } catch let error as DatabaseError {
        throw error
      } catch {
        failures.append(error)
      }
    }
    return failures
  }

  private static func sweep(
    _ session: String, in root: String, _ named: (String) throws -> Set<String>
  ) throws {
    let files = FileManager.default
    let folder = "\(root)/\(session)"
    guard access("\(folder)/\(lockName)", F_OK) == 0 else {
      // Of a process that died before its lock was durable, and empty; or none of ours.
      guard [ENOENT, ENOTDIR].contains(errno) else { throw FileFailure("looking for a lock") }
      guard rmdir(folder) == 0 || [ENOTEMPTY, ENOTDIR].contains(errno) else {
        throw FileFailure("removing a folder")
      }
      return
    }
    guard let lock = try FileLock.attempt("\(folder)/\(lockName)") else { return }
    defer { withExtendedLifetime(lock) {} }
    let kept = try named(session)
    var isEmpty = true
    for file in try files.contentsOfDirectory(atPath: folder) where file != lockName {
      if kept.contains("\(session)/\(file)") {
        isEmpty = false
      } else {
        try files.removeItem(atPath: "\(folder)/\(file)")
      }
    }
    if isEmpty { try files.removeItem(atPath: folder) }
  }
}
