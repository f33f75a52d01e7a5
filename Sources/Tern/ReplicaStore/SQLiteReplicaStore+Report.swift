import TernCore
import TernDatabase

extension SQLiteReplicaStore {
  package func stateReport(at remoteID: String, merged heads: VersionVector) throws -> StateReport?
  {
    try access.read { transaction in
      guard let cursor = try transaction.remotes.place(at: remoteID)?.cursor,
        !transaction.waiting.hasGroups, !transaction.large.hasRows
      else { return nil }
      let stored = try transaction.authors.ids.indices.map {
        try transaction.authorTable.row(UInt32($0)).stored
      }
      let authors = Dictionary(uniqueKeysWithValues: zip(transaction.authors.ids, stored))
      guard
        // Beginnings of groups are in nobody's state, and their authors may never send the rest.
        VersionVector(authors) == heads,
        try !SnapshotCut.hasNotes(transaction), try !transaction.remotes.hasForks()
      else { return nil }
      return StateReport(
        replica: transaction.ownID, cursor: cursor, operations: heads.digest,
        tables: try TableDigest.all(in: transaction))
    }
  }

  package func comparison(at remoteID: String) throws -> StateComparison? {
    try access.read { try $0.remotes.comparison(at: remoteID) }
  }

  package func save(_ comparison: StateComparison, at remoteID: String) throws {
    if try self.comparison(at: remoteID) == comparison { return }
    try access.write { try $0.remotes.save(comparison, at: remoteID) }
  }
}
