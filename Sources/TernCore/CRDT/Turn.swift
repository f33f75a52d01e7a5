/// When an operation is merged, among those of its author.
package struct Turn: Hashable, Sendable {
  package var sequence: UInt64
  /// Up to which all of the author's operations are merged when this one is: less than its own
  /// number where an earlier one was put aside, and 0 where that is not known.
  package var settled: UInt64

  package init(sequence: UInt64, settled: UInt64) {
    self.sequence = sequence
    self.settled = settled
  }

  /// Of an operation that is merged in its turn.
  package init(_ sequence: UInt64) {
    self.init(sequence: sequence, settled: sequence)
  }
}
