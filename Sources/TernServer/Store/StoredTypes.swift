#if Server
import Foundation
import TernCore

/// How far a space and each of its authors are.
public struct SpaceSummary: Hashable, Sendable {
  /// Of a space that doesn't exist, that of one which is made now.
  public var standing: SpaceStanding
  public var position: UInt64
  public var heads: VersionVector
  /// The greatest time of an operation.
  public var newestTime: HybridTime
  /// Operations up to here are served no more.
  public var trimmed: UInt64
  /// The newest that is whole, with its heads.
  public var snapshot: StoredSnapshot?
  public var snapshotHeads: VersionVector
  /// When an upload that is still here was refused last.
  public var refused: Date?
  /// What a replica reported last of its state.
  public var state: StoredState?
  /// Since when an operator has the space take nothing from devices.
  public var suspended: Date?

  public init(
    standing: SpaceStanding, position: UInt64 = 0, heads: VersionVector = .init(),
    trimmed: UInt64 = 0, snapshot: StoredSnapshot? = nil, snapshotHeads: VersionVector = .init(),
    refused: Date? = nil, state: StoredState? = nil, newestTime: HybridTime = .zero,
    suspended: Date? = nil
  ) {
    self.standing = standing
    self.position = position
    self.heads = heads
    self.newestTime = newestTime
    self.trimmed = trimmed
    self.snapshot = snapshot
    self.snapshotHeads = snapshotHeads
    self.refused = refused
    self.state = state
    self.suspended = suspended
  }
}

/// A replica's report of its state, as it is kept: the last one of a space.
public struct StoredState: Hashable, Sendable {
  /// `nil` may stand for one of a position that is not the space's newest.
  public var report: StateReport?
  /// That of the report's cursor.
  public var position: UInt64
  /// When it came, by the server's clock.
  public var received: Date
  /// Whether another report of the same position differed.
  public var isDisputed: Bool

  public init(report: StateReport?, position: UInt64, received: Date, isDisputed: Bool = false) {
    self.report = report
    self.position = position
    self.received = received
    self.isDisputed = isDisputed
  }
}

/// Where a space is, and in which history.
public struct SpaceHead: Hashable, Sendable {
  /// The newest position.
  public var position: UInt64
  /// The chain up to it; `nil` at 0.
  public var chain: ChainDigest?

  public init(position: UInt64 = 0, chain: ChainDigest? = nil) {
    self.position = position
    self.chain = chain
  }

  /// Whether a space that was at `other` can be here now, without having lost anything.
  func canFollow(_ other: SpaceHead) -> Bool {
    position > other.position || self == other
  }
}

/// The newest operation of one author in one space.
public struct AuthorHead: Hashable, Sendable {
  public var sequence: UInt64
  public var time: HybridTime
  /// Whether the next operation continues its group.
  public var continues: Bool

  public init(sequence: UInt64, time: HybridTime, continues: Bool) {
    self.sequence = sequence
    self.time = time
    self.continues = continues
  }

  init(_ envelope: SyncOperation.Envelope) {
    self.init(
      sequence: envelope.sequence, time: envelope.time, continues: envelope.continues)
  }

  /// That of an encoded operation, or of a snapshot where its bytes are gone; `nil` for neither.
  init?(ofOperation bytes: [UInt8], or covered: SnapshotHead?) throws(WireError) {
    if !bytes.isEmpty {
      self.init(try SyncOperation(bytes: bytes).envelope)
    } else if let covered {
      self.init(sequence: covered.sequence, time: covered.time, continues: false)
    } else {
      return nil
    }
  }
}

/// What identifies an operation in a space.
public struct OperationKey: Hashable, Sendable {
  public var author: ReplicaID
  public var sequence: UInt64

  public init(author: ReplicaID, sequence: UInt64) {
    self.author = author
    self.sequence = sequence
  }
}

/// An operation to be added, with its digest.
public struct NewOperation: Hashable, Sendable {
  public let operation: SyncOperation
  public let digest: OperationDigest

  public init(_ operation: SyncOperation) {
    self.operation = operation
    digest = OperationDigest(operation)
  }

  public var key: OperationKey {
    OperationKey(author: operation.envelope.replica, sequence: operation.envelope.sequence)
  }
}

/// Operations of a space in its order, and what surrounds them.
public struct StoredPage: Hashable, Sendable {
  /// Of a space that doesn't exist, that of one which is made now.
  public var standing: SpaceStanding
  /// The space's newest position when the page was read.
  public var head: UInt64
  /// Operations up to here are served no more.
  public var trimmed: UInt64
  /// The chain up to where the page begins; `nil` at 0 and beyond the head.
  public var chainBefore: ChainDigest?
  /// The encoded operations.
  public var operations: [[UInt8]]
  /// The last position that the page spans: of its last operation, or of one left out behind it.
  public var end: UInt64
  /// Whether a base comes next: a page ends before one.
  public var endsBeforeBase = false
  /// The chain up to ``end``; `nil` where the page spans nothing.
  public var lastChain: ChainDigest?

  public init(
    standing: SpaceStanding, head: UInt64, trimmed: UInt64 = 0, chainBefore: ChainDigest? = nil,
    operations: [[UInt8]] = [], end: UInt64 = 0, lastChain: ChainDigest? = nil
  ) {
    self.standing = standing
    self.head = head
    self.trimmed = trimmed
    self.chainBefore = chainBefore
    self.operations = operations
    self.end = end
    self.lastChain = lastChain
  }
}

/// What is known of a push before the space is locked.
public struct ForeseenPush: Hashable, Sendable {
  /// Of its operations.
  public let keys: [OperationKey]
  /// Who pushes; `nil` for somebody whom no token names.
  public let member: MemberName?
  /// The lowest sequence number of each author.
  let first: [ReplicaID: UInt64]

  public init(_ keys: [OperationKey], by member: MemberName?) {
    self.keys = keys
    self.member = member
    first = Dictionary(keys.map { ($0.author, $0.sequence) }, uniquingKeysWith: min)
  }

  var authors: Set<ReplicaID> { Set(first.keys) }

  func holds(_ keys: [OperationKey]) -> Bool { Set(self.keys).isSuperset(of: keys) }
}
#endif
