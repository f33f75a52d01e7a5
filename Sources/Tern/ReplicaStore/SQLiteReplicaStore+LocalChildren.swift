extension SQLiteReplicaStore {
  /// Does to rows of unsynced tables what their foreign keys say of parents that a pull left
  /// deleted, a few parents a transaction. A process that dies between them leaves the rest to
  /// the next pull.
  func settleLocalChildren() throws {
    var last: RowID?
    repeat {
      let after = last
      last = try sealing { try LocalChildren($0).run(after: after) }
    } while last != nil
  }
}
