#if Server
import Foundation
@_spi(Rehearsal) import TernCore

extension SpaceService {
  /// Stores operations in their order; when it returns they are durable, and listeners were told.
  ///
  /// All or nothing. An operation that the space has already is acknowledged again.
  /// - Throws: ``RemoteError`` with `sequence-gap`, `sequence-conflict`, `time-ahead`,
  ///   `time-not-increasing`, `too-large`, `too-many-spaces`, `too-many-replicas`, `space-full`,
  ///   `space-suspended`, `author-claimed`, `author-banned`; with `unavailable` below the disk's
  ///   reserve.
  /// - Parameter member: who pushes; `nil` for somebody whom no token names.
  public func push(
    _ operations: [SyncOperation], to space: SpaceName, by member: MemberName? = nil
  ) throws -> PushReceipt {
    try push(NewOperation.all(of: operations, limits), to: space, by: member)
  }

  func push(
    _ pushed: [NewOperation], to space: SpaceName, by member: MemberName?
  ) throws -> PushReceipt {
    let now = clock.now
    guard !pushed.isEmpty else {
      let summary = try store.summary(of: space)
      try summary.standing.checkIsRead(space)
      return PushReceipt(now: now, position: summary.position, accepted: 0)
    }
    try reserve.check(adding: pushed.reduce(0) { $0 + $1.operation.bytes.count })
    var grown: SpaceHead?
    let receipt = try PushReceipt.acknowledging(pushed.count, now) {
      try access.update(space, foreseeing: ForeseenPush(pushed.map(\.key), by: member)) { space in
        // The store may run this again.
        grown = nil
        try space.ensureRoom()
        let rows = space.rows
        var admission = try space.admission(of: pushed, by: member, now: now)
        for new in pushed { try admission.offer(new) }
        let admitted = admission.admitted
        if !admitted.isEmpty {
          try space.ensureTakes()
          try space.quotas.check(admitted, by: member)
          grown = SpaceHead(
            position: rows.position + UInt64(admitted.count),
            chain: try rows.append(admitted, heads: admission.heads))
          for (author, record) in admission.noted { try rows.set(record, of: author) }
        }
        if Planted.isActive(.positionEarly), let grown { tell(grown, of: space.name) }
        try CrashPoint.reach(.serverBeforeCommit)
        return PushReceipt(
          now: now, position: grown?.position ?? rows.position, accepted: admitted.count)
      }
    }
    try CrashPoint.reach(.serverAfterCommit)
    if let grown { tell(grown, of: space) }
    return receipt
  }
}

extension NewOperation {
  /// What a push can be told without the store, and so before its turn.
  ///
  /// - Throws: ``RemoteError`` with `too-large`.
  static func all(
    of operations: [SyncOperation], _ limits: ServerLimits
  ) throws(RemoteError) -> [NewOperation] {
    guard operations.count <= limits.batchOperations else {
      throw RemoteError(
        .tooLarge,
        "batchOperations: a push has at most \(limits.batchOperations) operations; push fewer at "
          + "a time")
    }
    return operations.map { NewOperation($0) }
  }
}

extension PushReceipt {
  /// Answers a push with what its transaction returned, and so not before its commit (INV-03).
  fileprivate static func acknowledging(
    _ count: Int, _ now: Date, commit: () throws -> PushReceipt
  ) throws -> PushReceipt {
    guard Planted.isActive(.acknowledgeBeforeCommit) else { return try commit() }
    do {
      return try commit()
    } catch is CancellationError {
      return PushReceipt(now: now, position: 1, accepted: count)
    }
  }
}

extension LockedSpace {
  /// Reads what the decision needs, in as few calls as there are kinds of rows.
  fileprivate func admission(
    of pushed: [NewOperation], by member: MemberName?, now: Date
  ) throws -> Admission {
    let authors = Set(pushed.map(\.key.author))
    let heads = try rows.heads(of: authors)
    let records = try rows.authorRecords(of: authors)
    try room.check(for: authors.filter { heads[$0] == nil }, records, of: member)
    let stored = pushed.map(\.key).filter { $0.sequence <= heads[$0.author]?.sequence ?? 0 }
    let digests = stored.isEmpty ? [:] : try rows.digests(of: stored)
    return Admission(
      heads: heads, digests: digests, records: records, by: member, now: now,
      limit: try limit(of: pushed, now))
  }

  /// Looks at all authors only where it matters, which is hardly ever.
  private func limit(of pushed: [NewOperation], _ now: Date) throws -> Int64 {
    let limit = Admission.limitMilliseconds(now: now, newest: .zero)
    guard pushed.contains(where: { $0.operation.envelope.time.milliseconds > limit }) else {
      return limit
    }
    return Admission.limitMilliseconds(
      now: now, newest: try rows.heads().values.map(\.time).max() ?? .zero)
  }
}
#endif
