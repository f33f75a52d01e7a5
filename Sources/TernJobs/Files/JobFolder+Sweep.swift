import Foundation
import GRDB
import TernCore
import TernDatabase

extension JobFolder {
  /// Whether a process that lives has an opening's folder in the root.
  static func isOpen(_ root: String) throws -> Bool {
    try FileManager.default.contentsOfDirectory(atPath: root).contains { session in
      let lock = "\(root)/\(session)/\(lockName)"
      guard isName(session), access(lock, F_OK) == 0 else { return false }
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
