import TernCore

/// Gives a replica a new id, in one transaction.
struct IDChange {
  let access: StoreAccess
  let transaction: StoreTransaction
  /// Where the id comes from.
  let random: @Sendable () -> UInt64

  func leave(_ former: ReplicaID, for place: RemotePlace, heads: VersionVector) throws
    -> ReplicaIDChange?
  {
    let lasts = [try transaction.remotes.lastOffered(), transaction.authorTable.own.stored]
    for last in lasts {
      guard let change = try run(from: former, after: last, at: place.remoteID) else { continue }
      let changed = try again()
      try changed.remotes.dropForks(at: place.remoteID, beyond: heads, changed.authors)
      try changed.remotes.save(place)
      return change
    }
    return nil
  }

  func run(from former: ReplicaID, after last: UInt64, at remoteID: String) throws
    -> ReplicaIDChange?
  {
    let next = former.next(among: transaction.authors.ids, random: random)
    let id = next ?? ReplicaID(high: random(), low: random())
    let step = try IDChangeStep(transaction, Renaming(from: former, after: last, to: id))
    switch try step.way(at: remoteID) {
    case .anew?:
      try step.run()
      let version = transaction.schemaVersion
      let changed = try again()
      try KeptTables(changed).keeping {
        _ = try SnapshotLoad(changed, from: nil, isRepairing: false) {
          try Self.emptySnapshot(version, part: $0)
        }.run()
      }
    // Where nothing is the new id's, no order depends on it.
    case .inPlace? where next != nil || !step.isAnyRenamed:
      try step.renameStates()
      try step.run()
      try step.noteFormerWrites(again())
    case .inPlace?, nil: return nil
    }
    try transaction.held.wakeAll()
    return ReplicaIDChange(former: former, last: last, current: id)
  }

  /// The same transaction as it is now read.
  private func again() throws -> StoreTransaction {
    try access.transaction(of: transaction.db, transaction.recorder)
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
