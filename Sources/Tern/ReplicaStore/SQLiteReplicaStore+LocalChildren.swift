extension SQLiteReplicaStore {
  /// Does to rows of unsynced tables what their foreign keys say of parents that a pull left
  /// deleted, a few parents a transaction. A process that dies between them leaves the rest to
  /// the next pull.
  func settleLocalChildren() throws {
    var last: RowID?
    repeat {
      let after = last
      last = try sealing { transaction in
        // What is quarantined then is taken out of its table without a word to other devices.
        _ = try Seal.run(in: transaction)
        return try LocalChildren(transaction).run(after: after)
      }
    } while last != nil
  }
}
