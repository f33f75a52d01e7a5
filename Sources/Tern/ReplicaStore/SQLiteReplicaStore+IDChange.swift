@_spi(Rehearsal) import TernCore

extension SQLiteReplicaStore {
  package func accepted(by remoteID: String) throws -> UInt64 {
    try access.read { try $0.remotes.accepted(by: remoteID) }
  }

  package func changeID(from former: ReplicaID, after last: UInt64, at remoteID: String) throws
    -> ReplicaIDChange?
  {
    try leaving(former) { try $0.run(from: former, after: last, at: remoteID) }
  }

  package func leaveID(_ former: ReplicaID, for place: RemotePlace, heads: VersionVector) throws
    -> ReplicaIDChange?
  {
    try leaving(former) { try $0.leave(former, for: place, heads: heads) }
  }

  private func leaving(
    _ former: ReplicaID, _ body: (IDChange) throws -> ReplicaIDChange?
  ) throws -> ReplicaIDChange? {
    let change = try access.write(withoutForeignKeys: true) { transaction -> ReplicaIDChange? in
      guard transaction.ownID == former else { return nil }
      _ = try Seal.run(in: transaction)
      let change = try body(IDChange(access: access, transaction: transaction, random: random))
      if change != nil { try CrashPoint.reach(.snapshotBeforeCommit) }
      return change
    }
    // What was sealed may be what a quarantined row was waiting for.
    if change != nil { access.settleIfPossible() }
    return change
  }
}
