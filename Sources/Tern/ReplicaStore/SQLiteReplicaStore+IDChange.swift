@_spi(Rehearsal) import TernCore

extension SQLiteReplicaStore {
  package func accepted(by remoteID: String) throws -> UInt64 {
    try access.read { try $0.remotes.accepted(by: remoteID) }
  }

  package func changeID(from former: ReplicaID, after last: UInt64, at remoteID: String) throws
    -> ReplicaIDChange?
  {
    try access.leaving(former, random) { try $0.run(from: former, after: last, at: remoteID) }
  }

  package func leaveID(
    _ former: ReplicaID, for place: RemotePlace, heads: VersionVector, isTold: Bool
  ) throws -> ReplicaIDChange? {
    let mayLeave = { (transaction: StoreTransaction) in
      try !isTold || transaction.toldForks.mayChangeID(transaction.clock)
    }
    // Every sync of one that was told asks, and mostly in vain.
    guard try access.read(mayLeave) else { return nil }
    return try access.leaving(former, random) { change in
      guard try mayLeave(change.transaction),
        let left = try change.leave(former, for: place, heads: heads)
      else { return nil }
      if isTold { try change.transaction.toldForks.noteIDChange(change.transaction.clock) }
      return left
    }
  }
}

extension StoreAccess {
  fileprivate func leaving(
    _ former: ReplicaID, _ random: @escaping @Sendable () -> UInt64,
    _ body: (IDChange) throws -> ReplicaIDChange?
  ) throws -> ReplicaIDChange? {
    let change = try write(withoutForeignKeys: true) { transaction -> ReplicaIDChange? in
      guard transaction.ownID == former else { return nil }
      _ = try Seal.run(in: transaction)
      let change = try body(IDChange(access: self, transaction: transaction, random: random))
      if change != nil { try CrashPoint.reach(.snapshotBeforeCommit) }
      return change
    }
    // What was sealed may be what a quarantined row was waiting for.
    if change != nil { settleIfPossible() }
    return change
  }
}
