import Foundation
import GRDB
@_spi(Rehearsal) import TernCore

extension SQLiteReplicaStore {
  package func accepted(by remoteID: String) throws -> UInt64 {
    try read { try $0.remotes.accepted(by: remoteID) }
  }

  package func changeID(from former: ReplicaID, after last: UInt64, at remoteID: String) throws
    -> ReplicaIDChange?
  {
    try leaving(former) { try changeID(from: former, after: last, at: remoteID, in: $0) }
  }

  package func leaveID(_ former: ReplicaID, for place: RemotePlace, heads: VersionVector) throws
    -> ReplicaIDChange?
  {
    try leaving(former) { transaction in
      let lasts = [try transaction.remotes.lastOffered(), transaction.authorTable.own.stored]
      for last in lasts {
        guard
          let change = try changeID(
            from: former, after: last, at: place.remoteID, in: transaction)
        else { continue }
        let changed = try again(transaction)
        try changed.remotes.dropForks(at: place.remoteID, beyond: heads, changed.authors)
        try changed.remotes.save(place)
        return change
      }
      return nil
    }
  }

  private func leaving(
    _ former: ReplicaID, _ body: (StoreTransaction) throws -> ReplicaIDChange?
  ) throws -> ReplicaIDChange? {
    let change = try transaction(withoutForeignKeys: true) { transaction -> ReplicaIDChange? in
      guard transaction.ownID == former else { return nil }
      _ = try Seal.run(in: transaction)
      let change = try body(transaction)
      if change != nil { try CrashPoint.reach(.snapshotBeforeCommit) }
      return change
    }
    // What was sealed may be what a row held aside was waiting for.
    if change != nil { settleIfPossible() }
    return change
  }

  private func changeID(
    from former: ReplicaID, after last: UInt64, at remoteID: String,
    in transaction: StoreTransaction
  ) throws -> ReplicaIDChange? {
    let next = former.next(among: transaction.authors.ids, random: random)
    let id = next ?? ReplicaID(high: random(), low: random())
    let step = try IDChangeStep(transaction, Renaming(from: former, after: last, to: id))
    switch try step.way(at: remoteID) {
    case .anew?:
      try step.run()
      let version = transaction.schemaVersion
      let changed = try again(transaction)
      try KeptTables(changed).keeping {
        _ = try SnapshotLoad(changed, from: nil, isRepairing: false) {
          try Self.emptySnapshot(version, part: $0)
        }.run()
      }
    // Where nothing is the new id's, no order depends on it.
    case .inPlace? where next != nil || !step.isAnyRenamed:
      try step.renameStates()
      try step.run()
      try step.noteFormerWrites(again(transaction))
    case .inPlace?, nil: return nil
    }
    try transaction.held.wakeAll()
    return ReplicaIDChange(former: former, last: last, current: id)
  }

  /// The same transaction as it is now read.
  private func again(_ transaction: StoreTransaction) throws -> StoreTransaction {
    try self.transaction(of: transaction.db, transaction.recorder)
  }

  /// Of a replica that holds nothing: all that is in the log is merged again on top of it.
  private static func emptySnapshot(_ version: UInt32, part index: Int) throws -> [UInt8]? {
    var writer = ByteWriter()
    switch index {
    case 0:
      writer.append(byte: SnapshotPart.Kind.heading.rawValue)
      SnapshotHeading(schemaVersion: version, authors: []).append(to: &writer)
    case 1:
      writer.append(byte: SnapshotPart.Kind.end.rawValue)
      writer.append(varint: 0)
    default: return nil
    }
    return try SnapshotPart.encoded(writer.bytes)
  }
}
