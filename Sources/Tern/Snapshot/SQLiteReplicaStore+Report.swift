import TernCore
import TernDatabase

extension SQLiteReplicaStore {
  public func stateReport(at remoteID: String, merged heads: VersionVector) throws -> StateReport? {
    try read { transaction in
      guard let cursor = try transaction.place(at: remoteID)?.cursor,
        !transaction.hasAside, !transaction.hasLargeRows,
        try transaction.versionVector(\.merged) == heads,
        try !SnapshotCut.hasNotes(transaction), try transaction.count(tables.fork) == 0
      else { return nil }
      var tables: [String: StateReport.Digest] = [:]
      for sql in transaction.sql {
        var digest = try TableDigest(transaction, sql)
        tables[sql.shape.name.folded] = try digest.run()
      }
      return StateReport(
        replica: transaction.ownID, cursor: cursor, tables: tables)
    }
  }

  public func noteCompared(_ report: StateReport, at remoteID: String) throws {
    try transaction { transaction in
      let update = try transaction.statement(
        "UPDATE \(tables.remote) SET compared = ? WHERE id = ?")
      update.bind(1, copy: .string(report.name))
      update.bind(2, copy: .string(remoteID))
      try update.run()
    }
  }

  public func hasCompared(_ report: StateReport, at remoteID: String) throws -> Bool {
    try read { transaction in
      let select = try transaction.statement(
        "SELECT 1 FROM \(tables.remote) WHERE id = ? AND compared = ?")
      select.bind(1, copy: .string(remoteID))
      select.bind(2, copy: .string(report.name))
      defer { select.reset() }
      return try select.step()
    }
  }
}

extension StateReport {
  /// Of a replica at a cursor there is one, and one more once it was repaired.
  fileprivate var name: String {
    "\(cursor.rawValue) \(replica)\(isRepaired ? " repaired" : "")"
  }
}
