import Tern

extension FuzzTarget {
  /// Changes of a text: for each a byte for its author and sequence, then the change behind its length.
  ///
  /// Each is read as it is written. Two replicas that get them in opposite orders must end with the same
  /// text and state (INV-01), and read their state back as it was.
  static let text = FuzzTarget(
    name: "text", samples: { samples() },
    run: { bytes in
      var changes: [(author: ReplicaID, sequence: UInt64, change: TextChange)] = []
      do throws(WireError) {
        changes = try read(bytes)
      } catch {
        return .refused
      }
      var replicas = [TextSequence(), TextSequence()]
      for (author, sequence, change) in changes {
        try require(
          change.bytes.withUnsafeBytes { try? TextChange($0) } == change, "a change changes")
        _ = replicas[0].apply(change, by: author, sequence)
      }
      // One operation's changes stay in their order.
      for (author, sequence, change) in grouped(changes).reversed().joined() {
        _ = replicas[1].apply(change, by: author, sequence)
        replicas[1] = try again(replicas[1])
      }
      try require(replicas[0].text == replicas[1].text, "INV-01: texts differ")
      try require(replicas[0].stored == replicas[1].stored, "INV-01: states differ")
      try require(
        String(validating: replicas[0].text, as: UTF8.self) != nil, "a text is no UTF-8")
      return .taken
    })

  private static func again(_ sequence: TextSequence) throws -> TextSequence {
    let stored = sequence.stored
    let read = try stored.withUnsafeBytes { try TextSequence(stored: $0, isTrusted: false) }
    try require(read.stored == stored, "a state changes")
    return read
  }

  private typealias Entry = (author: ReplicaID, sequence: UInt64, change: TextChange)

  private static func grouped(_ changes: [Entry]) -> [[Entry]] {
    var groups: [[Entry]] = []
    for entry in changes {
      let place = groups.firstIndex {
        $0[0].author == entry.author && $0[0].sequence == entry.sequence
      }
      if let place { groups[place].append(entry) } else { groups.append([entry]) }
    }
    return groups
  }

  private static func read(_ bytes: [UInt8]) throws(WireError) -> [Entry] {
    let result = bytes.withUnsafeBytes { buffer in
      Result { () throws(WireError) in
        var reader = ByteReader(buffer)
        var changes: [Entry] = []
        while !reader.isAtEnd, changes.count < 32 {
          let head = try reader.byte("head")
          let content = try reader.bytes(reader.count("length"), "change")
          changes.append(
            (id(UInt64(head & 3)), UInt64(head >> 2) + 1, try TextChange(content)))
        }
        return changes
      }
    }
    return try result.get()
  }

  private static func id(_ number: UInt64) -> ReplicaID { ReplicaID(high: 0xF0, low: number) }

  private static func samples() -> [[UInt8]] {
    var replicas = [TextSequence(), TextSequence()]
    var writer = ByteWriter()
    func write(_ author: UInt64, _ sequence: UInt64, _ change: TextChange) {
      let bytes = change.bytes
      writer.append(byte: UInt8(author | (sequence - 1) << 2))
      writer.append(varint: UInt64(bytes.count))
      writer.append(raw: bytes)
      for index in replicas.indices where author == UInt64(index) || sequence < 3 {
        _ = replicas[index].apply(change, by: id(author), sequence)
      }
    }
    write(0, 1, .initial(Array("été\n".utf8)))
    for (turn, words) in ["one two", "three", "", "🐦 four", "two"].enumerated() {
      let author = UInt64(turn % 2)
      var text = replicas[Int(author)]
      let delta = TextDelta(from: text.text, to: Array(words.utf8))
      if let edit = text.edit(delta) { write(author, UInt64(turn + 2), .edit(edit)) }
    }
    return [writer.bytes, Array(writer.bytes.prefix(writer.bytes.count - 3))]
  }
}
