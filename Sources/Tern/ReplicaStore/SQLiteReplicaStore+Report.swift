import Foundation
import TernCore
import TernDatabase

extension SQLiteReplicaStore {
  package func stateReport(at remoteID: String, merged heads: VersionVector) throws -> StateReport?
  {
    try read { transaction in
      guard let cursor = try transaction.remotes.place(at: remoteID)?.cursor,
        !transaction.waiting.hasGroups, !transaction.large.hasRows,
        // Beginnings of groups are in nobody's state, and their authors may never send the rest.
        try storedHeads(transaction) == heads,
        try !SnapshotCut.hasNotes(transaction), try !transaction.remotes.hasForks()
      else { return nil }
      return StateReport(
        replica: transaction.ownID, cursor: cursor, operations: heads.digest,
        tables: try digests(in: transaction))
    }
  }

  private func storedHeads(_ transaction: StoreTransaction) throws -> VersionVector {
    var heads = VersionVector()
    for (index, id) in transaction.authors.ids.enumerated() {
      heads[id] = try transaction.authorTable.row(UInt32(index)).stored
    }
    return heads
  }

  /// Of each table that syncs.
  func digests(in transaction: StoreTransaction) throws -> [String: StateReport.Digest] {
    try transaction.sql.reduce(into: [:]) { digests, sql in
      var digest = try TableDigest(transaction, sql)
      digests[sql.shape.name.folded] = try digest.run()
    }
  }

  package func comparison(at remoteID: String) throws -> StateComparison? {
    try read { transaction in
      let select = try transaction.statement("SELECT compared FROM \(tables.remote) WHERE id = ?")
      select.bind(1, copy: .string(remoteID))
      defer { select.reset() }
      guard try select.step(), !select.isNull(0) else { return nil }
      // Whatever it was is found again.
      return try? JSONDecoder().decode(StateComparison.self, from: Data(select.blob(0)))
    }
  }

  package func save(_ comparison: StateComparison, at remoteID: String) throws {
    if try self.comparison(at: remoteID) == comparison { return }
    let bytes = try Array(JSONEncoder().encode(comparison))
    try transaction { transaction in
      let update = try transaction.statement(
        "UPDATE \(tables.remote) SET compared = ? WHERE id = ?")
      update.bind(1, copy: .blob(bytes))
      update.bind(2, copy: .string(remoteID))
      try update.run()
    }
  }
}
