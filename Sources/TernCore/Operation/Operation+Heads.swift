extension [SyncOperation] {
  /// The newest sequence number of every author.
  package var heads: VersionVector {
    reduce(into: VersionVector()) { heads, operation in
      let envelope = operation.envelope
      heads[envelope.replica] = Swift.max(heads[envelope.replica], envelope.sequence)
    }
  }

  /// Of all of them, as they stand in a log.
  package var byteCount: Int { reduce(0) { $0 + $1.bytes.count } }
}
