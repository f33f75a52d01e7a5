import Tern

extension ReplicaID {
  /// One for a suite, which its number names: ids that follow each other are not in that order.
  package static func numbered(_ number: UInt64) -> ReplicaID {
    ReplicaID(high: number &* 0x9E37_79B9_7F4A_7C15, low: number)
  }
}
