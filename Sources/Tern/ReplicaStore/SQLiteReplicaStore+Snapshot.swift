@_spi(Rehearsal) import TernCore
import TernDatabase

extension SQLiteReplicaStore {
  /// Reads after which a snapshot is cut under the write lock, because the app writes all the time.
  private static let attempts = 4

  package func cutSnapshot(_ write: (_ part: [UInt8]) throws -> Void) throws -> SnapshotSummary {
    try withoutActuallyEscaping(write) { write in
      for _ in 0..<Self.attempts {
        try seal()
        let summary = try access.read { transaction -> SnapshotSummary? in
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
      try access.write(withoutForeignKeys: true) { transaction in
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
    guard try access.read({ try LogTrim($0, retention: retention).hasOld() }) else { return }
    try access.write { try LogTrim($0, retention: retention).run(heldBy: heads, at: remoteID) }
  }

  package func hasTrimmed(lackedBy heads: VersionVector) throws -> Bool {
    try access.read { transaction in
      for (index, id) in transaction.authors.ids.enumerated()
      where try transaction.authorTable.row(UInt32(index)).trimmed > heads[id] {
        return true
      }
      return false
    }
  }
}
