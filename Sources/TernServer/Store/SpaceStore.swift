#if Server
import Foundation
import TernCore

/// Where a server keeps its spaces, their operations and their tokens.
///
/// Synchronous, so that a simulation can drive it. A store holds rows and knows no rules: those
/// are in ``SpaceService`` and what it uses. Every call is one transaction: on return what it wrote
/// is durable, on a throw nothing of it is stored. Other errors than the body's own are the
/// store's.
public protocol SpaceStore: Sendable {
  /// Drawn when the store was made, never changed: 32 hexadecimal digits. That of the spaces that
  /// are made in it: ``SpaceStanding/epoch``.
  var epoch: String { get }

  /// How many transactions of different spaces it runs at once.
  var concurrentUpdates: Int { get }

  /// The newest position of a space and of its authors; zero for a space that doesn't exist.
  func summary(of space: SpaceName) throws -> SpaceSummary

  /// Where a space stands alone; `nil` for one that doesn't exist.
  func standing(of space: SpaceName) throws -> SpaceStanding?

  /// The newest position of a space alone; zero for a space that doesn't exist.
  func position(of space: SpaceName) throws -> UInt64

  /// The heads of several spaces by one query, without those that don't exist, were moved away or
  /// are not whole yet. How a server learns of what other processes do.
  func heads(of spaces: [SpaceName]) throws -> [SpaceName: SpaceHead]

  /// The clock by which everybody goes who uses the store.
  var clock: ServerClock { get }

  /// The history on which the store goes on: greater once another server has taken the place of the
  /// one before, of which the last commits may be missing.
  var timeline: UInt64 { get }

  /// Whether it hears of what other processes announce.
  var announces: Bool { get }

  /// Tells other processes that spaces moved. A hint, which may be lost.
  func announce(_ spaces: Set<SpaceName>) throws

  /// Waits until other processes announce spaces, for so long at the most. Called from one thread.
  func announced(within time: Duration) throws -> Set<SpaceName>

  /// Operations that follow `position` and are not by `excluded`, seen at one moment.
  ///
  /// - Parameters:
  ///   - contentBytes: where the page ends, if not before a base. Otherwise it has at least one
  ///     operation if there is one.
  ///   - operations: how many positions the page spans at most, those left out included.
  func page(
    of space: SpaceName, after position: UInt64, excluding excluded: ReplicaID?,
    contentBytes: Int, operations: Int
  ) throws -> StoredPage

  /// Runs `body` with the space's head locked: no other call, of any process, changes the space
  /// until this one has committed. A space that doesn't exist is made.
  func update<Value: Sendable>(
    _ space: SpaceName, _ body: (any SpaceTransaction) throws -> Value
  ) throws -> Value

  /// The same for a push. A store that is far away reads what the decision on it will ask together
  /// with the lock.
  func update<Value: Sendable>(
    _ space: SpaceName, foreseeing push: ForeseenPush,
    _ body: (any SpaceTransaction) throws -> Value
  ) throws -> Value

  /// As ``update(_:_:)``, unless another process is at the space, or there is none: then `nil`. For
  /// what that one does as well.
  func updateUnlessLocked<Value: Sendable>(
    _ space: SpaceName, _ body: (any SpaceTransaction) throws -> Value
  ) throws -> Value?

  /// One part of a snapshot, or `nil`.
  ///
  /// - Parameter isWhole: whether the snapshot is to be whole, or an upload.
  func snapshotPart(_ index: Int, of id: String, in space: SpaceName, isWhole: Bool) throws
    -> [UInt8]?

  /// A replica's lease as it is written down, or `nil`.
  func lease(of replica: ReplicaID, in space: SpaceName) throws -> Lease?

  /// The spaces that there are, by name.
  func spaces() throws -> [SpaceName]

  /// Removes a space and its tokens. Returns whether there was one.
  ///
  /// It is gone as a whole, and nobody finds it any more; what it held goes with
  /// ``removeRemains(rows:contentBytes:)``. Its audit records stay.
  ///
  /// - Parameters:
  ///   - entry: what is added to the audit log in the same transaction, where there was a space.
  ///   - records: as for ``AuditRows/add(_:keeping:)``.
  func removeSpace(_ space: SpaceName, recording entry: AuditEntry?, keeping records: Int) throws
    -> Bool

  /// Removes so many rows at most of what removed spaces held, of about `contentBytes` and at least
  /// one, so that no transaction is long. Returns whether there is more.
  func removeRemains(rows: Int, contentBytes: Int) throws -> Bool

  /// Whose one replica id is; `nil` where nothing is known of it.
  func authorRecord(of replica: ReplicaID, in space: SpaceName) throws -> AuthorRecord?

  /// Whose the replica ids of a space are, as far as anything is known of them.
  func authorRecords(of space: SpaceName) throws -> [ReplicaID: AuthorRecord]

  /// What a space stores; nothing for one that doesn't exist.
  func usage(of space: SpaceName) throws -> SpaceUsage

  /// The space with the most ``SpaceUsage/keptBytes``; `nil` where none has any.
  func spaceKeepingMost() throws -> SpaceName?

  /// What of the store's own bytes nothing uses, and what is stored next can have.
  func reusableBytes() throws -> Int

  /// What the store holds as a whole. It may read a row of every space.
  func statistics() throws -> StoreStatistics

  /// The connections of this process to the store's database; `nil` for a store without one. Asked
  /// for at every scrape, and so without asking the database.
  var connections: StoreConnections? { get }

  /// What operators changed, in the order of their commits: the records that follow a number, of
  /// one space or of all, and so many of them at most.
  func auditRecords(after number: UInt64, of space: SpaceName?, atMost count: Int) throws
    -> [AuditRecord]

  /// The token with a digest, or `nil`.
  func token(_ digest: TokenDigest) throws -> TokenRecord?

  /// Those of several tokens that there are, in any order, by one query.
  func tokens(of digests: [TokenDigest]) throws -> [TokenRecord]

  /// All tokens, the oldest first.
  func tokens() throws -> [TokenRecord]
}

extension SpaceStore {
  /// One at a time.
  public var concurrentUpdates: Int { 1 }

  /// A store that is near reads when it is asked.
  public func update<Value: Sendable>(
    _ space: SpaceName, foreseeing push: ForeseenPush,
    _ body: (any SpaceTransaction) throws -> Value
  ) throws -> Value {
    try update(space, body)
  }

  /// No other process is at it for long.
  public func updateUnlessLocked<Value: Sendable>(
    _ space: SpaceName, _ body: (any SpaceTransaction) throws -> Value
  ) throws -> Value? {
    try update(space, body)
  }

  /// Removes a space without a record of that.
  package func removeSpace(_ space: SpaceName) throws -> Bool {
    try removeSpace(space, recording: nil, keeping: 1)
  }

  /// The machine's.
  public var clock: ServerClock { .system }

  /// There was no other.
  public var timeline: UInt64 { 0 }

  /// There is nobody to hear of.
  public var announces: Bool { false }

  public func announce(_ spaces: Set<SpaceName>) throws {}

  public func announced(within time: Duration) throws -> Set<SpaceName> { [] }

  /// None.
  public var connections: StoreConnections? { nil }
}

/// A space whose head is locked. What a transaction wrote is what it reads afterwards, but for
/// ``position`` and what it appended.
public protocol SpaceTransaction: SnapshotRows, HorizonRows, AuthorRows {
  /// The newest position when the transaction began.
  var position: UInt64 { get }

  /// How many spaces there were before, when this transaction makes one more; otherwise `nil`.
  var spacesBefore: Int? { get throws }

  /// Which history the space has, and whether it is on its way to another store, when the
  /// transaction began.
  var standing: SpaceStanding { get }

  /// The heads of those authors that have one.
  func heads(of authors: Set<ReplicaID>) throws -> [ReplicaID: AuthorHead]

  /// The heads of all authors.
  func heads() throws -> [ReplicaID: AuthorHead]

  /// The digests of those operations that the space has.
  func digests(of keys: [OperationKey]) throws -> [OperationKey: OperationDigest]

  /// Where an operation is; `nil` for one that the space doesn't have.
  func position(of key: OperationKey) throws -> UInt64?

  /// The chain up to a position; `nil` at 0 and beyond the head.
  func chain(at position: UInt64) throws -> ChainDigest?

  /// Gives the next positions to `operations`, in their order, and sets their authors' heads.
  ///
  /// At most once in a transaction.
  /// - Returns: the chain up to the last; `nil` in a space that has nothing.
  @discardableResult
  func append(_ operations: [NewOperation], heads: [ReplicaID: AuthorHead]) throws -> ChainDigest?

  /// Gives the next position to a base, which has no author and no bytes, and sets its authors'
  /// heads. Returns the chain up to it.
  ///
  /// At most once in a transaction, and not beside ``append(_:heads:)``.
  func appendBase(_ digest: OperationDigest, heads: [ReplicaID: AuthorHead]) throws -> ChainDigest

  /// The position of the newest base; 0 where there is none. Nobody pulls over it.
  var basePosition: UInt64 { get throws }

  /// Turns the bases after `position`, and the operations whose author's ones before are nowhere
  /// without them, into places that pages pass over: digest and chain alone are left of them. Their
  /// authors' heads go back, and the state report goes.
  ///
  /// Nothing after `position` may be trimmed.
  /// - Parameter held: the heads of the snapshot at `position`, which stands for what is before.
  /// - Returns: the heads that went back, `nil` for an author who has none any more.
  func passBases(after position: UInt64, held: [ReplicaID: SnapshotHead]) throws
    -> [ReplicaID: AuthorHead?]

  /// What a replica reported last of its state.
  var state: StoredState? { get throws }

  func set(_ state: StoredState) throws

  /// What the space stored when the transaction began.
  var usage: SpaceUsage { get throws }

  func set(_ quota: SpaceQuota) throws

  /// ``SpaceDeadlines/suspended`` when the transaction began, without another look.
  var suspended: Date? { get }

  /// What an operator asked for, for a time.
  var deadlines: SpaceDeadlines { get throws }

  func set(_ deadlines: SpaceDeadlines) throws

  /// Adds a token, of this space.
  func add(_ token: TokenRecord) throws

  /// Removes a token of this space. Returns what was known of it; `nil` where there was none.
  func remove(_ token: TokenDigest) throws -> TokenRecord?

  /// The store's audit log, into which this transaction writes.
  var audit: any AuditRows { get }
}

/// A store's audit log inside a transaction.
public protocol AuditRows {
  /// Adds a record with the next number, and removes the oldest records.
  ///
  /// - Parameter records: how many the store keeps of all spaces, from 1 on.
  func add(_ entry: AuditEntry, keeping records: Int) throws
}

extension SpaceTransaction {
  /// Adds a token in place of another one of this space, which expires at `end` unless it does
  /// before. Returns whether there was one; otherwise nothing is added.
  package func replaceToken(
    _ old: TokenDigest, expiring end: Date, by new: TokenRecord
  ) throws -> Bool {
    guard var record = try remove(old) else { return false }
    record.expires = record.expires.map { min($0, end) } ?? end
    try add(record)
    try add(new)
    return true
  }
}
#endif
