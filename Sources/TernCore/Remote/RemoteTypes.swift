import struct Foundation.Date

/// What a remote says of itself and of one space.
public struct RemoteGreeting: Hashable, Sendable {
  /// Drawn when the remote's store was made: another one says that it was wiped.
  public var epoch: String
  /// The remote's wall clock; `nil` where it has none, as a folder.
  public var now: Date?
  /// The greatest time of an operation in the space, where that is more than five minutes ahead of
  /// the clock: the clock was ahead as it was taken.
  public var newest: Date?
  /// The position of the newest operation of the space, 0 for none.
  public var position: UInt64
  /// The newest sequence number that the remote holds of every replica.
  public var heads: VersionVector
  /// The newest whole snapshot, where there is one.
  public var snapshot: RemoteSnapshot?
  /// How often the remote has found that it lost operations, which may come again from another
  /// copy: as files of a folder that are replaced. Another number than before says that it has.
  public var losses = 0
  /// Operations up to this position are served no more: a snapshot stands for them.
  public var trimmed: UInt64
  /// Whether the remote would like a newer snapshot to be cut.
  public var wantsSnapshot: Bool
  /// Of a replica that had everything up to ``position`` and nothing else, where one has said so.
  public var state: StateReport?
  /// Whether the remote would like one.
  public var wantsState: Bool
  /// Whose replica ids are, as far as the remote knows more of them than their operations.
  package var authors: [ReplicaID: RemoteAuthor] = [:]
  /// Whether the id by which the replica greeted belongs to another member: what it writes needs
  /// another id.
  package var isClaimed = false

  public init(
    epoch: String, now: Date?, position: UInt64, heads: VersionVector,
    snapshot: RemoteSnapshot? = nil, trimmed: UInt64 = 0, wantsSnapshot: Bool = false,
    state: StateReport? = nil, wantsState: Bool = false
  ) {
    self.epoch = epoch
    self.now = now
    self.position = position
    self.heads = heads
    self.snapshot = snapshot
    self.trimmed = trimmed
    self.wantsSnapshot = wantsSnapshot
    self.state = state
    self.wantsState = wantsState
  }
}

/// Whose a replica id is at a remote.
package struct RemoteAuthor: Hashable, Sendable, Codable {
  /// The name of the member that claimed it, and whose devices alone write under it.
  package var member: String?
  /// The first and the last sequence number of what came before anybody had claimed it, and who
  /// brought that: a member's name, or `nil` where nobody is named or there are several.
  package var brought: ClosedRange<UInt64>?
  package var broughtBy: String?
  /// The last sequence number that the remote takes of it, where its operator banned it.
  package var bannedAfter: UInt64?

  package init(
    member: String? = nil, brought: ClosedRange<UInt64>? = nil, broughtBy: String? = nil,
    bannedAfter: UInt64? = nil
  ) {
    self.member = member
    self.brought = brought
    self.broughtBy = broughtBy
    self.bannedAfter = bannedAfter
  }
}

/// Where a replica stands in a space's order: opaque to clients, made by the remote.
public struct RemoteCursor: Hashable, Sendable, RawRepresentable {
  public let rawValue: String

  public init(rawValue: String) {
    self.rawValue = rawValue
  }
}

/// A durable acknowledgement: everything that was pushed is stored at the remote.
public struct PushReceipt: Hashable, Sendable {
  /// The remote's clock; `nil` where it has none.
  public var now: Date?
  /// The space's newest position after the push.
  public var position: UInt64
  /// How many of the pushed operations were new to the remote; the others were repeats.
  public var accepted: Int

  public init(now: Date?, position: UInt64, accepted: Int) {
    self.now = now
    self.position = position
    self.accepted = accepted
  }
}

/// Operations that follow a cursor, in the space's own order, without a hole.
public struct PulledPage: Hashable, Sendable {
  public var operations: [SyncOperation]
  /// Where the next page begins.
  public var cursor: RemoteCursor
  /// Whether the space held more when the page was cut.
  public var hasMore: Bool
  /// The remote's clock; `nil` where it has none.
  public var now: Date?
  /// Why the remote can't give something that it was given, e.g. a file of a folder that can't be
  /// read; everything else is given all the same.
  public var withheld: RemoteError?

  public init(
    operations: [SyncOperation], cursor: RemoteCursor, hasMore: Bool, now: Date?,
    withheld: RemoteError? = nil
  ) {
    self.operations = operations
    self.cursor = cursor
    self.hasMore = hasMore
    self.now = now
    self.withheld = withheld
  }

  /// Whether everything that the remote has is here once the page is merged.
  package var endsPull: Bool { !hasMore && withheld == nil }
}
