import TernCore

extension StoreAccess {
  /// Looks again at the quarantined rows that were woken, and at what waits for the clock.
  func settle() throws {
    try write(withoutForeignKeys: true) { transaction in
      _ = try Seal.run(in: transaction)
      try transaction.triggers.merging {
        let pass = try MergePass(transaction)
        try pass.takeUpDue()
        try pass.finish()
      }
    }
  }

  /// ``settle()`` behind a commit whose caller would do again what it is told has failed.
  func settleIfPossible() {
    // It stays due, as ``SQLiteReplicaStore/hasNews()`` says: the next seal does it or says why
    // not.
    try? settle()
  }
}
