import Foundation
import GRDB
@_spi(Rehearsal) import TernCore
import TernDatabase

/// Where a queue's files are: in the root, one folder for each process that opened the queue, each
/// with a lock that its process holds.
///
/// What a dead process left, and no row names, is nobody's: it goes when the queue is opened next,
/// with whatever else its handlers wrote there.
final class JobFolder: Sendable {
  let root: String
  /// The name of this opening's own folder.
  private let session: String
  private let lock: FileLock
  private let makeID: @Sendable () -> UInt64

  /// Why some of what the dead left is still there. It is in nobody's way.
  let unswept: [any Error]

  static let lockName = "lock"
  static let rootLockName = "sessions.lock"

  /// Makes a folder of its own, and sweeps those of the dead.
  ///
  /// - Parameter named: the paths in a folder that jobs have; asked for after its process is known
  ///   to be dead.
  /// - Throws: ``JobQueueError`` `.folderInUse` and `.fileFailed`, ``FileFailure``, what Foundation
  ///   throws, and the `DatabaseError` that `named` throws.
  init(
    root: String, _ durable: DurableFile, owner: FolderOwner,
    makeID: @escaping @Sendable () -> UInt64,
    named: (String) throws -> Set<String>
  ) throws {
    self.root = root
    self.makeID = makeID
    try durable.makeFolder(root)
    // One at a time, so that a folder whose lock is not taken yet is not swept.
    let rootLock = try FileLock.wait("\(root)/\(Self.rootLockName)")
    defer { withExtendedLifetime(rootLock) {} }
    try owner.claim("\(root)/\(Self.rootLockName)", durable) { try Self.isOpen(root) }
    let name = try Self.makeSession(in: root, makeID)
    session = name
    guard let lock = try FileLock.attempt("\(root)/\(name)/\(Self.lockName)") else {
      throw FileFailure("locking a new folder", EWOULDBLOCK)
    }
    self.lock = lock
    // Durable before any file is: a folder that has files and no lock is none of ours.
    try durable.syncFolder(of: "\(root)/\(name)/\(Self.lockName)")
    try durable.syncFolder(of: "\(root)/\(name)")
    unswept = try Self.sweep(root, named)
  }

  /// - Returns: the name of a new folder.
  private static func makeSession(in root: String, _ makeID: () -> UInt64) throws -> String {
    var taken: Set<String> = []
    while true {
      let name = Self.name(makeID())
      if mkdir("\(root)/\(name)", 0o700) == 0 { return name }
      guard errno == EEXIST else { throw FileFailure("making a folder") }
      // Chance repeats no number of 64 bits.
      guard taken.insert(name).inserted else {
        throw JobQueueError(
          .fileFailed,
          "the folder \(root) has a “\(name)” already, and `makeID` of the queue's environment gives that "
            + "number again and again; let it draw another one each time")
      }
    }
  }

  private static func name(_ id: UInt64) -> String {
    let digits = String(id, radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
  }

  /// Nothing else is ours to remove.
  static func isName(_ name: String) -> Bool {
    name.utf8.count == 16 && name.utf8.allSatisfy { 48...57 ~= $0 || 97...102 ~= $0 }
  }

  var opening: Opening { Opening(root: root, session: session) }

  /// A path of this process's own that nothing stands at, relative to the root as it is stored.
  func newPath() -> String { "\(session)/\(Self.name(makeID()))" }

  func absolute(_ path: String) -> String { "\(root)/\(path)" }

  /// What cannot be unlinked now is swept after this process's end.
  func unlink(_ path: String) {
    Foundation.unlink(absolute(path))
  }

  /// Unlinks files once the transaction that took them from their jobs is durable.
  func unlink(_ paths: [String], afterCommitOf db: Database) {
    if paths.isEmpty { return }
    if Planted.isActive(.fileUnlinkedBeforeCommit) {
      for path in paths { unlink(path) }
      return
    }
    db.afterNextTransaction { db in
      do {
        try CrashPoint.reach(.jobBeforeUnlink)
        for path in paths where try !JobFolder.isNamed(path, in: db) { self.unlink(path) }
      } catch {
        // Nothing is lost: what no row names is swept when the queue is opened next.
      }
    }
  }

  /// Whether a job has the file: a savepoint may have taken back what its transaction did.
  static func isNamed(_ path: String, in db: Database) throws -> Bool {
    try Bool.fetchOne(
      db, sql: "SELECT EXISTS (SELECT 1 FROM \(JobTables.file) WHERE path = ?)",
      arguments: [path])!
  }

  /// The paths of one opening's folder that jobs have.
  static func named(_ session: String, in db: Database) throws -> Set<String> {
    // By the index of paths: what follows a slash in the order of bytes is a zero.
    try String.fetchSet(
      db, sql: "SELECT path FROM \(JobTables.file) WHERE path > ? AND path < ?",
      arguments: ["\(session)/", "\(session)0"])
  }
}
