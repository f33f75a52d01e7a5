extension ByteWriter {
  /// A count, then replicas in ascending order, each with its sequence.
  package mutating func append(_ vector: VersionVector) {
    append(varint: UInt64(vector.sequences.count))
    for entry in vector.sorted {
      append(replica: entry.replica)
      append(varint: entry.sequence)
    }
  }
}

extension ByteReader {
  mutating func vector(_ field: String, limit: Int) throws(WireError) -> VersionVector {
    var vector = VersionVector()
    var previous: ReplicaID?
    let count = try count(field + " count")
    guard count <= limit else { throw WireError(.tooLarge, field + " count") }
    for _ in 0..<count {
      let replica = try replica(field + " replica")
      let sequence = try varint(field + " sequence")
      guard sequence > 0, sequence <= VersionVector.maximumSequence,
        previous.map({ $0 < replica }) ?? true
      else { throw WireError(.malformed, field) }
      vector[replica] = sequence
      previous = replica
    }
    return vector
  }
}
