/// An operation that a snapshot carries along, because something of it is in no row.
package struct SnapshotOperation {
  package let operation: SyncOperation
  /// Its author's place in the heading.
  package let author: Int
  /// What waits for a newer version of the app: tables, and columns of a table; a column
  /// without a name is the whole table.
  package let parts: [(table: String, column: String)]
  package let aside: Aside?

  /// Of the last operation of a group that is put aside.
  package struct Aside: Hashable, Sendable {
    /// The group's first sequence.
    package var first: UInt64
    /// Whether it waits for its time, and not for a Tern that can read it.
    package var isFuture: Bool
    package var reason: String

    package init(first: UInt64, isFuture: Bool, reason: String) {
      self.first = first
      self.isFuture = isFuture
      self.reason = reason
    }
  }

  /// Reads the next one of a part.
  ///
  /// - Parameter authors: the heading's.
  package init(_ reader: inout ByteReader, _ authors: [SnapshotHeading.Author]) throws(WireError) {
    let place = try reader.varint("author")
    guard place < authors.count else { throw WireError(.malformed, "author") }
    author = Int(place)
    let bytes = try reader.bytes(reader.count("operation length"), "operation")
    operation = try SyncOperation(bytes: Array(bytes))
    guard operation.envelope.replica == authors[author].id else {
      throw WireError(.malformed, "author")
    }
    var parts: [(table: String, column: String)] = []
    let count = try reader.count("part count")
    guard count <= BodyLimit.names else { throw WireError(.tooLarge, "part count") }
    for _ in 0..<count {
      parts.append((try reader.string("table"), try reader.string("column")))
    }
    self.parts = parts
    let kind = try reader.byte("kind")
    guard kind <= 2 else { throw WireError(.malformed, "kind") }
    guard kind > 0 else {
      aside = nil
      return
    }
    let first = try reader.varint("group")
    guard first > 0, first <= operation.envelope.sequence else {
      throw WireError(.malformed, "group")
    }
    aside = Aside(first: first, isFuture: kind == 2, reason: try reader.string("reason"))
  }
}

extension ByteReader {
  /// Reads one entry of a part that says what authors had seen of each other.
  package mutating func snapshotSeen(_ authors: Int) throws(WireError) -> (
    author: Int, other: Int, sequence: UInt64
  ) {
    let (author, other) = (try varint("seen"), try varint("seen"))
    guard author < authors, other < authors else { throw WireError(.malformed, "seen") }
    let sequence = try varint("seen")
    guard 1...VersionVector.maximumSequence ~= sequence else { throw WireError(.malformed, "seen") }
    return (Int(author), Int(other), sequence)
  }
}
