import Foundation
@_spi(Rehearsal) import TernCore
import TernDatabase

extension SQLiteReplicaStore {
  /// Reads after which a snapshot is cut under the write lock, because the app writes all the time.
  private static let attempts = 4

  package func cutSnapshot(_ write: (_ part: [UInt8]) throws -> Void) throws -> SnapshotSummary {
    try withoutActuallyEscaping(write) { write in
      for _ in 0..<Self.attempts {
        try seal()
        let summary = try read { transaction -> SnapshotSummary? in
          if try SnapshotCut.hasNotes(transaction) { return nil }
          var cut = try SnapshotCut(transaction, write)
          return try cut.run()
        }
        if let summary { return summary }
      }
      return try sealing { transaction in
        _ = try Seal.run(in: transaction)
        var cut = try SnapshotCut(transaction, write)
        return try cut.run()
      }
    }
  }

  package func loadSnapshot(
    from origin: SnapshotOrigin?, isRepairing: Bool, _ part: (_ index: Int) throws -> [UInt8]?
  ) throws -> SnapshotSummary {
    try withoutActuallyEscaping(part) { part in
      try transaction(withoutForeignKeys: true) { transaction in
        _ = try Seal.run(in: transaction)
        let summary = try transaction.triggers.merging {
          try SnapshotLoad(transaction, from: origin, isRepairing: isRepairing, part).run()
        }
        if let origin { try transaction.remotes.save(origin.place) }
        try CrashPoint.reach(.snapshotBeforeCommit)
        return summary
      }
    }
  }

  package func trim(heldBy heads: VersionVector, at remoteID: String) throws {
    // Most calls find nothing, and need no commit.
    guard try read({ try LogTrim($0, retention: retention).hasOld() }) else { return }
    try transaction { try LogTrim($0, retention: retention).run(heldBy: heads, at: remoteID) }
  }

  package func hasTrimmed(lackedBy heads: VersionVector) throws -> Bool {
    try read { transaction in
      for (index, id) in transaction.authors.ids.enumerated()
      where try transaction.authorTable.row(UInt32(index)).trimmed > heads[id] {
        return true
      }
      return false
    }
  }

  /// A file beside the database; `nil` for one in memory.
  func snapshotPath(of remoteID: String) -> String? {
    let path = database.path
    guard path.hasPrefix("/") else { return nil }
    var name = Checksum()
    name.add(Array(remoteID.utf8))
    return "\(path)-\(tables.prefix)\(name.value).parts"
  }

  /// Copies the database as it stands to a new file beside it, that only its owner may read.
  ///
  /// - Returns: its path.
  func keepFile() throws -> String {
    guard database.path.hasPrefix("/") else {
      throw SnapshotError(
        .unsupported, "a database in memory has no file to keep; use one in a file, or erase it")
    }
    var number = 1
    while access(keptPath(number), F_OK) == 0 { number += 1 }
    let path = keptPath(number)
    OwnerOnly.makeFile(path)
    do {
      try database.writeWithoutTransaction { db in
        try db.execute(sql: "VACUUM main INTO ?", arguments: [path])
      }
    } catch {
      unlink(path)
      throw error
    }
    return path
  }

  private func keptPath(_ number: Int) -> String { "\(database.path)-kept-\(number).sqlite" }
}
