#if Server
import Foundation
import GRDB
import Synchronization
import TernCore
import TernServer

/// A store in front of another one, some calls of which fail while they are told to. What writes can
/// be made to wait.
final class FailingStore: SpaceStore {
  enum Call: Hashable {
    case position(SpaceName)
    /// Of several spaces.
    case heads
    /// Several of them.
    case tokens
    case update(SpaceName)
    case removeRemains
    case token
  }

  private struct State {
    var failing: Set<Call> = []
    var seen: Set<Call> = []
    var reads = 0
  }

  private let base: any SpaceStore
  private let state = Mutex(State())
  private let onUpdate: @Sendable (SpaceName) -> Void
  private let onPage: @Sendable (SpaceName) throws -> Void
  private let onSummary: @Sendable (SpaceName) -> Void

  init(
    _ base: any SpaceStore, onUpdate: @escaping @Sendable (SpaceName) -> Void = { _ in },
    onPage: @escaping @Sendable (SpaceName) throws -> Void = { _ in },
    onSummary: @escaping @Sendable (SpaceName) -> Void = { _ in }
  ) {
    self.base = base
    self.onUpdate = onUpdate
    self.onPage = onPage
    self.onSummary = onSummary
  }

  /// From now on these fail, and what was seen is forgotten.
  func fail(_ calls: Set<Call>) {
    state.withLock { $0 = State(failing: calls) }
  }

  func hasSeen(_ call: Call) -> Bool { state.withLock { $0.seen.contains(call) } }

  /// How often it was asked for positions or tokens since.
  var reads: Int { state.withLock { $0.reads } }

  private func countRead() { state.withLock { $0.reads += 1 } }

  private func note(_ call: Call) throws {
    let fails = state.withLock { state in
      state.seen.insert(call)
      return state.failing.contains(call)
    }
    if fails { throw DatabaseError(resultCode: .SQLITE_IOERR) }
  }

  var epoch: String { base.epoch }

  func summary(of space: SpaceName) throws -> SpaceSummary {
    onSummary(space)
    return try base.summary(of: space)
  }

  func authorRecord(of replica: ReplicaID, in space: SpaceName) throws -> AuthorRecord? {
    try base.authorRecord(of: replica, in: space)
  }

  func authorRecords(of space: SpaceName) throws -> [ReplicaID: AuthorRecord] {
    try base.authorRecords(of: space)
  }

  func standing(of space: SpaceName) throws -> SpaceStanding? {
    countRead()
    return try base.standing(of: space)
  }

  func position(of space: SpaceName) throws -> UInt64 {
    countRead()
    try note(.position(space))
    return try base.position(of: space)
  }

  func heads(of spaces: [SpaceName]) throws -> [SpaceName: SpaceHead] {
    countRead()
    try note(.heads)
    return try base.heads(of: spaces)
  }

  func page(
    of space: SpaceName, after position: UInt64, excluding excluded: ReplicaID?,
    contentBytes: Int, operations: Int
  ) throws -> StoredPage {
    try onPage(space)
    return try base.page(
      of: space, after: position, excluding: excluded, contentBytes: contentBytes,
      operations: operations)
  }

  func update<Value: Sendable>(
    _ space: SpaceName, _ body: (any SpaceTransaction) throws -> Value
  ) throws -> Value {
    try note(.update(space))
    onUpdate(space)
    return try base.update(space, body)
  }

  func snapshotPart(
    _ index: Int, of id: String, in space: SpaceName, isWhole: Bool
  ) throws -> [UInt8]? {
    try base.snapshotPart(index, of: id, in: space, isWhole: isWhole)
  }

  func lease(of replica: ReplicaID, in space: SpaceName) throws -> Lease? {
    try base.lease(of: replica, in: space)
  }

  func spaces() throws -> [SpaceName] { try base.spaces() }
  func removeSpace(_ space: SpaceName, recording entry: AuditEntry?, keeping records: Int) throws
    -> Bool
  { try base.removeSpace(space, recording: entry, keeping: records) }
  func auditRecords(after number: UInt64, of space: SpaceName?, atMost count: Int) throws
    -> [AuditRecord]
  { try base.auditRecords(after: number, of: space, atMost: count) }
  func removeRemains(rows: Int, contentBytes: Int) throws -> Bool {
    try note(.removeRemains)
    return try base.removeRemains(rows: rows, contentBytes: contentBytes)
  }
  func spaceKeepingMost() throws -> SpaceName? { try base.spaceKeepingMost() }

  func usage(of space: SpaceName) throws -> SpaceUsage { try base.usage(of: space) }
  func reusableBytes() throws -> Int { try base.reusableBytes() }
  func statistics() throws -> StoreStatistics { try base.statistics() }
  func token(_ digest: TokenDigest) throws -> TokenRecord? {
    countRead()
    try note(.token)
    return try base.token(digest)
  }
  func tokens() throws -> [TokenRecord] { try base.tokens() }
  func tokens(of digests: [TokenDigest]) throws -> [TokenRecord] {
    countRead()
    try note(.tokens)
    return try base.tokens(of: digests)
  }
}
#endif
