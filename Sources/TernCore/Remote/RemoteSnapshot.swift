/// A whole snapshot at a remote: the state of a space, in place of the operations before it.
public struct RemoteSnapshot: Hashable, Sendable {
  /// Drawn by the remote from the offer: equal ids have equal bytes.
  public var id: String
  /// It holds every operation up to this position, and perhaps later ones.
  public var position: UInt64
  /// Where pulling goes on after loading it.
  public var cursor: RemoteCursor
  /// How many parts it has, from index 0 on.
  public var parts: Int
  /// Of every replica, the last operation that it holds. Who has all of these need not load it,
  /// and can go on from ``cursor``.
  public var heads: VersionVector

  public init(
    id: String, position: UInt64, cursor: RemoteCursor, parts: Int, heads: VersionVector = .init()
  ) {
    self.id = id
    self.position = position
    self.cursor = cursor
    self.parts = parts
    self.heads = heads
  }
}

/// The last operation of one replica that a snapshot holds; of a group in fragments, its end, or,
/// where the remote has no more of it either, the last fragment.
public struct SnapshotHead: Hashable, Sendable {
  public var sequence: UInt64
  public var time: HybridTime

  public init(sequence: UInt64, time: HybridTime) {
    self.sequence = sequence
    self.time = time
  }
}

/// What is to be uploaded, before its first part. Equal offers are one upload, which goes on where
/// it was cut short, from any device.
public struct SnapshotOffer: Hashable, Sendable {
  /// Names the content, e.g. its digest: equal keys mean equal parts. 1 to 64 letters, digits, `-`
  /// and `_`.
  public var key: String
  /// How many parts there are, at least 1.
  public var parts: Int
  /// Up to where the snapshot holds every operation of the space; `nil` is the beginning, which
  /// only a base can have.
  public var cursor: RemoteCursor?
  /// Of every replica, the last operation in the snapshot.
  public var heads: [ReplicaID: SnapshotHead]
  /// Whether the snapshot takes the place of operations that the remote lacks and nobody can push
  /// any more, since they were trimmed from the log: of a remote that was wiped, or restored from
  /// an old backup.
  ///
  /// A base holds everything that the remote has: its cursor is of the space's newest position, and
  /// stays so until it is complete. Then its heads become the remote's, and nobody pulls over it:
  /// the answer is ``RemoteError/Code/snapshotNeeded``. A server that shows no loss refuses it,
  /// with ``RemoteError/Code/refillNeeded``, until its operator asks for one.
  public var isBase: Bool
  /// `nil` from a client that does not say it yet.
  public var schema: SnapshotSchema?

  public init(
    key: String, parts: Int, cursor: RemoteCursor?, heads: [ReplicaID: SnapshotHead],
    isBase: Bool = false, schema: SnapshotSchema? = nil
  ) {
    self.key = key
    self.parts = parts
    self.cursor = cursor
    self.heads = heads
    self.isBase = isBase
    self.schema = schema
  }
}

/// An upload that a remote waits for.
public struct SnapshotUpload: Hashable, Sendable {
  /// Names the upload, and the snapshot once it is complete.
  public var id: String
  /// The parts that the remote does not have yet, ascending; none of a snapshot that is complete.
  public var missing: [Int]

  public init(id: String, missing: [Int]) {
    self.id = id
    self.missing = missing
  }
}
