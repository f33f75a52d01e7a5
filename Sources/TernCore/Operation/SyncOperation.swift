/// One atomic group of row changes by one replica, or one fragment of a group too large for one
/// message. Fragments have consecutive sequence numbers and the same time, and merge together.
///
/// The encoded bytes are the operation: every replica stores and passes on exactly those.
public struct SyncOperation: Hashable, Sendable {
  public let envelope: Envelope
  /// The whole encoding, envelope and body. See `Docs/WireFormat.md`.
  public let bytes: [UInt8]
  /// Where the body begins in ``bytes``.
  package let bodyOffset: Int

  /// Everything that a server reads of an operation; the body is opaque to it.
  public struct Envelope: Hashable, Sendable {
    public var replica: ReplicaID
    /// Contiguous per replica, from 1.
    public var sequence: UInt64
    public var time: HybridTime
    /// What the author had merged of other replicas, where that changed since its previous group.
    package var seen: VersionVector
    /// The version of the author's ``SyncSchema``.
    package var schemaVersion: UInt32
    /// Whether the next sequence number continues this group.
    public var continues: Bool

    public init(
      replica: ReplicaID, sequence: UInt64, time: HybridTime, seen: VersionVector = .init(),
      schemaVersion: UInt32 = 1, continues: Bool = false
    ) {
      self.replica = replica
      self.sequence = sequence
      self.time = time
      self.seen = seen
      self.schemaVersion = schemaVersion
      self.continues = continues
    }
  }

  /// Limits that every reader enforces.
  package enum Limit {
    /// The longest encoding of one operation.
    package static let bytes = 16 << 20
    /// A group's body is cut into fragments of about this many bytes.
    package static let fragmentBytes = 256 << 10
    /// The longest encoding of one row: the rest is for its heading, its envelope and the rows
    /// before it.
    package static let rowBytes = 15 << 20
    /// The most replicas of which one operation says what it had seen.
    package static let seen = VersionVector.maximumReplicas
  }
}
