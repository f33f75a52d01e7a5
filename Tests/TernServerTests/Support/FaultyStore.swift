#if Server
import Foundation
import TernCore

@testable import TernServer

/// A store in front of one in memory that breaks one promise.
final class FaultyStore: SpaceStore {
  enum Fault: CaseIterable {
    /// A page begins with the operation before it.
    case repeatsPosition
    /// What an update wrote before it threw is stored.
    case keepsThrown
    /// The space of an update that threw is there.
    case makesThrown
    case tokensUnordered, ignoresBytes, ignoresOperations, ignoresExcluded, hidesBase
    /// An upload's parts are those of a whole snapshot too.
    case showsUploads
    case losesLeases, losesRecords
    /// No space keeps anything.
    case keepsNothing
    /// Where there are several spaces, the statistics know of one.
    case countsOneSpace
    /// A removed space stays.
    case keepsRemoved
    /// Removing what is left of a space removes another one.
    case removesBeside
    /// What is kept counts as what is stored.
    case countsKept
    /// No update of a space that has operations is stored.
    case losesUpdates
    /// Opened again, a store has another epoch.
    case newEpoch
    /// Reading a position makes a space.
    case makesRead
    /// A lease is any space's.
    case sharesLeases
    /// Those of `FaultyTransaction`.
    case countsNoSpaces, givesAllHeads, chainsBeyond, losesBaseHeads, passesHeld, keepsBases,
      keepsFirstReport
    case keepsQuota, keepsDeadlines, forgetsEpoch, snapshotsUnordered, keepsDropped
    case droppedUnordered
    case bringsBackOver, forgetsNothing, trimsMore, releasesAll, emptiesAll, countsNothingBack
    /// Asked for some tokens, it finds all.
    case findsAllTokens
    /// It knows where spaces are that are not there.
    case placesAbsent
    /// Of a token that it removes it doesn't say until when that was good.
    case forgetsExpiry
    case staysSuspended
    /// The audit log of one space is that of all.
    case mixesRecords
    /// A removal leaves no record.
    case forgetsRemoval
    case keepsOldRecords
    case hidesOwn, mixesMarks, countsBanned, countsForAll, givesAllMembers
  }

  private let base: MemorySpaceStore
  private let fault: Fault
  let epoch: String

  init(_ base: MemorySpaceStore, _ fault: Fault, epoch: String? = nil) {
    self.base = base
    self.fault = fault
    self.epoch = epoch ?? base.epoch
  }

  func reopened() -> FaultyStore {
    let other = String(base.epoch.reversed())
    return FaultyStore(
      MemorySpaceStore(copying: base), fault, epoch: fault == .newEpoch ? other : nil)
  }

  func summary(of space: SpaceName) -> SpaceSummary { base.summary(of: space) }

  func standing(of space: SpaceName) -> SpaceStanding? {
    base.standing(of: space) ?? (fault == .placesAbsent ? SpaceStanding(epoch: epoch) : nil)
  }

  func position(of space: SpaceName) throws -> UInt64 {
    if fault == .makesRead { try base.update(space) { _ in } }
    return base.position(of: space)
  }

  func heads(of spaces: [SpaceName]) -> [SpaceName: SpaceHead] {
    let heads = base.heads(of: spaces)
    guard fault == .placesAbsent else { return heads }
    return Dictionary(uniqueKeysWithValues: spaces.map { ($0, heads[$0] ?? SpaceHead()) })
  }

  func page(
    of space: SpaceName, after position: UInt64, excluding excluded: ReplicaID?,
    contentBytes: Int, operations: Int
  ) -> StoredPage {
    let isRepeated = fault == .repeatsPosition && position > 0
    var page = base.page(
      of: space, after: isRepeated ? position - 1 : position,
      excluding: fault == .ignoresExcluded ? nil : excluded,
      contentBytes: fault == .ignoresBytes ? .max : contentBytes,
      operations: fault == .ignoresOperations ? .max : operations)
    if fault == .hidesBase { page.endsBeforeBase = false }
    return page
  }

  func update<Value: Sendable>(
    _ space: SpaceName, _ body: (any SpaceTransaction) throws -> Value
  ) throws -> Value {
    switch fault {
    case .makesThrown:
      _ = try base.update(space) { _ in }
    case .losesUpdates where base.position(of: space) > 0:
      return try MemorySpaceStore(copying: base).update(space, body)
    case .keepsThrown:
      let result: Result<Value, any Error> = try base.update(space) { transaction in
        Result { try body(transaction) }
      }
      return try result.get()
    default: break
    }
    return try base.update(space) { try body(FaultyTransaction($0, fault)) }
  }

  func snapshotPart(
    _ index: Int, of id: String, in space: SpaceName, isWhole: Bool
  ) -> [UInt8]? {
    base.snapshotPart(index, of: id, in: space, isWhole: isWhole)
      ?? (fault == .showsUploads
        ? base.snapshotPart(index, of: id, in: space, isWhole: !isWhole) : nil)
  }

  func lease(of replica: ReplicaID, in space: SpaceName) -> Lease? {
    if fault == .sharesLeases {
      return base.spaces().lazy.compactMap { self.base.lease(of: replica, in: $0) }.first
    }
    return fault == .losesLeases ? nil : base.lease(of: replica, in: space)
  }

  func spaces() -> [SpaceName] { base.spaces() }

  func removeSpace(_ space: SpaceName, recording entry: AuditEntry?, keeping records: Int) -> Bool {
    if fault == .keepsRemoved { return true }
    let entry = fault == .forgetsRemoval ? nil : entry
    return base.removeSpace(space, recording: entry, keeping: records)
  }

  func auditRecords(
    after number: UInt64, of space: SpaceName?, atMost count: Int
  ) -> [AuditRecord] {
    base.auditRecords(after: number, of: fault == .mixesRecords ? nil : space, atMost: count)
  }

  func removeRemains(rows: Int, contentBytes: Int) -> Bool {
    if fault == .removesBeside { _ = try? base.spaces().first.map { try base.removeSpace($0) } }
    return base.removeRemains(rows: rows, contentBytes: contentBytes)
  }

  func authorRecord(of replica: ReplicaID, in space: SpaceName) -> AuthorRecord? {
    fault == .losesRecords ? nil : base.authorRecord(of: replica, in: space)
  }

  func authorRecords(of space: SpaceName) -> [ReplicaID: AuthorRecord] {
    base.authorRecords(of: space)
  }

  func usage(of space: SpaceName) -> SpaceUsage {
    var usage = base.usage(of: space)
    if fault == .countsKept { (usage.bytes, usage.keptBytes) = (usage.bytes + usage.keptBytes, 0) }
    return usage
  }

  func spaceKeepingMost() -> SpaceName? {
    fault == .keepsNothing ? nil : base.spaceKeepingMost()
  }

  func reusableBytes() -> Int { base.reusableBytes() }
  func statistics() -> StoreStatistics {
    var statistics = base.statistics()
    if fault == .countsOneSpace { statistics.spaces = min(1, statistics.spaces) }
    return statistics
  }
  func token(_ digest: TokenDigest) -> TokenRecord? { base.token(digest) }

  func tokens(of digests: [TokenDigest]) -> [TokenRecord] {
    fault == .findsAllTokens ? base.tokens() : base.tokens(of: digests)
  }

  func tokens() -> [TokenRecord] {
    let tokens = base.tokens()
    return fault == .tokensUnordered
      ? tokens.sorted { $0.digest.description < $1.digest.description } : tokens
  }
}
#endif
