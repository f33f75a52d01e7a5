/// What a snapshot holds: the schema that it was cut under, and how far each author is merged.
///
/// Everywhere else in a snapshot an author is its place in this list.
package struct SnapshotHeading: Hashable, Sendable {
  package struct Author: Hashable, Sendable {
    package var id: ReplicaID
    /// The author's last operation that is merged in the snapshot, or 0: of one of whom it has only
    /// the beginning of a group.
    package var sequence: UInt64
    /// Of that operation, or zero.
    package var time: HybridTime

    package init(id: ReplicaID, sequence: UInt64, time: HybridTime) {
      self.id = id
      self.sequence = sequence
      self.time = time
    }
  }

  package var schemaVersion: UInt32
  /// By id, ascending.
  package var authors: [Author]

  package init(schemaVersion: UInt32, authors: [Author]) {
    self.schemaVersion = schemaVersion
    self.authors = authors.sorted { $0.id < $1.id }
  }

  package var heads: VersionVector {
    VersionVector(Dictionary(uniqueKeysWithValues: authors.map { ($0.id, $0.sequence) }))
  }

  package func append(to writer: inout ByteWriter) {
    writer.append(varint: UInt64(schemaVersion))
    writer.append(varint: UInt64(authors.count))
    for author in authors {
      writer.append(replica: author.id)
      writer.append(varint: author.sequence)
      writer.append(fixed: author.time.rawValue)
    }
  }

  package init(_ reader: inout ByteReader) throws(WireError) {
    guard let version = UInt32(exactly: try reader.varint("schema version")) else {
      throw WireError(.malformed, "schema version")
    }
    schemaVersion = version
    authors = []
    let count = try reader.count("author count")
    guard count <= SnapshotPart.Limit.authors else { throw WireError(.tooLarge, "author count") }
    for _ in 0..<count {
      let id = try reader.replica("author")
      let sequence = try reader.varint("author's sequence")
      let time = HybridTime(rawValue: try reader.fixed(UInt64.self, "author's time"))
      guard sequence <= VersionVector.maximumSequence, (sequence > 0) == (time > .zero),
        time.milliseconds <= HybridTime.maximumMilliseconds,
        authors.last.map({ $0.id < id }) ?? true
      else { throw WireError(.malformed, "author") }
      authors.append(Author(id: id, sequence: sequence, time: time))
    }
    guard reader.isAtEnd else { throw WireError(.malformed, "heading's end") }
  }
}
