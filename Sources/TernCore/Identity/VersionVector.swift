/// How many operations of each replica are known: for every replica, the greatest sequence number
/// up to which nothing is missing.
public struct VersionVector: Hashable, Sendable {
  /// Sequence numbers stay below 2⁴⁰, so that a log key holds author and sequence in 63 bits.
  package static let maximumSequence: UInt64 = 1 << 40 - 1
  /// The most replicas of which one operation or one change names any operations.
  package static let maximumReplicas = 10_000

  /// Sequence numbers by replica; a replica that is absent stands at 0.
  public private(set) var sequences: [ReplicaID: UInt64]

  public init(_ sequences: [ReplicaID: UInt64] = [:]) {
    self.sequences = sequences.isEmpty ? sequences : sequences.filter { $0.value > 0 }
  }

  public subscript(replica: ReplicaID) -> UInt64 {
    get { sequences[replica, default: 0] }
    set { sequences[replica] = newValue == 0 ? nil : newValue }
  }

  /// Whether every operation in `other` is also counted here.
  package func covers(_ other: VersionVector) -> Bool {
    other.sequences.allSatisfy { self[$0.key] >= $0.value }
  }

  /// Entries by replica id, the order of the wire format.
  package var sorted: [(replica: ReplicaID, sequence: UInt64)] {
    sequences.sorted { $0.key < $1.key }.map { (replica: $0.key, sequence: $0.value) }
  }
}
