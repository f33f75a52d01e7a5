/// What a replica wrote after some number, as another replica's, which begins at 1.
///
/// Everything that names one of those operations names the new one: a delete the writes that its
/// author had seen, a set's removal the additions, a text's edit the elements.
package struct Renaming: Hashable, Sendable {
  package let old: ReplicaID
  package let new: ReplicaID
  /// The last operation that stays the old one's.
  package let last: UInt64

  package init(from old: ReplicaID, after last: UInt64, to new: ReplicaID) {
    (self.old, self.last, self.new) = (old, last, new)
  }

  /// The same where every operation up to the numbers is meant.
  package func renamed(upTo vector: VersionVector) -> VersionVector {
    guard vector[old] > last else { return vector }
    var vector = vector
    vector[new] = vector[old] - last
    vector[old] = last
    return vector
  }

  /// The same where the operations with these numbers are meant.
  package func renamed(exactly vector: VersionVector) -> VersionVector {
    guard vector[old] > last else { return vector }
    var vector = vector
    vector[new] = vector[old] - last
    vector[old] = 0
    return vector
  }
}
