import TernCore
import TernTesting
import Testing

/// Texts from peers that mean harm, or from a broken disk.
@Suite struct TextHostileTests {
  @Test(arguments: 0..<150)
  func `a state with wrong bytes is refused, or is a state`(_ seed: Int) throws {
    let history = try TextHistory(seed: UInt64(seed))
    let whole = history.replicas[0].stored
    var generator = SeededGenerator(seed: UInt64(seed))
    for _ in 0..<20 {
      var bytes = whole
      for _ in 0..<Int.random(in: 1...3, using: &generator) {
        bytes[Int.random(in: bytes.indices, using: &generator)] = .random(
          in: 0...255, using: &generator)
      }
      if Bool.random(using: &generator) { bytes.removeLast() }
      do throws(WireError) {
        var read = try Self.read(bytes)
        // Whatever it is, it can be edited and merged.
        var delta = TextDelta()
        delta.remove(min(1, TextHistory.count(read.text)))
        delta.insert([65])
        let edit = read.edit(delta)
        if let edit { _ = read.apply(.edit(edit), by: RowReplica.id(9), 1) }
        for entry in history.entries {
          _ = read.apply(.edit(entry.edit), by: entry.author, entry.sequence)
        }
        #expect(String(validating: read.text, as: UTF8.self) != nil)
      } catch {
        #expect([.malformed, .truncated, .tooLarge].contains(error.code))
      }
    }
  }

  private static func read(_ bytes: [UInt8]) throws(WireError) -> TextSequence {
    try bytes.withUnsafeBytes { buffer in
      Result { () throws(WireError) in try TextSequence(stored: buffer, isTrusted: false) }
    }.get()
  }

  /// An edit's bytes: `parent` is (replica, sequence, offset).
  private func edit(
    replicas: [ReplicaID] = [], removing: [[UInt64]] = [], parent: [UInt64] = [0], text: [UInt8]
  ) -> [UInt8] {
    var writer = ByteWriter()
    writer.append(byte: 1)
    writer.append(varint: UInt64(replicas.count))
    for replica in replicas { writer.append(replica: replica) }
    writer.append(varint: UInt64(removing.count))
    for number in removing.joined() { writer.append(varint: number) }
    writer.append(varint: text.isEmpty ? 0 : 1)
    if !text.isEmpty {
      for number in parent { writer.append(varint: number) }
      writer.append(varint: UInt64(text.count))
      writer.append(raw: text)
    }
    return writer.bytes
  }

  private func refusal(_ bytes: [UInt8]) -> WireError? {
    let result = bytes.withUnsafeBytes { buffer in
      Result { () throws(WireError) in try TextChange(buffer) }
    }
    if case .failure(let error) = result { return error }
    return nil
  }

  @Test func `changes that nobody honest writes are refused by name`() {
    let a = RowReplica.id(1)
    #expect(refusal(edit(replicas: [a], removing: [[0, 1, 0, 2]], text: [65])) == nil)
    let cases: [(String, [UInt8])] = [
      ("no form", [2]), ("a cut one", [1, 0]), ("no UTF-8", edit(text: [0xC3])),
      ("an initial text that is no UTF-8", [0, 0xFF]),
      ("before the beginning", edit(parent: [1], text: [65])),
      ("a replica that it does not name", edit(replicas: [a], parent: [4, 1, 0], text: [65])),
      ("a replica for nothing", edit(replicas: [a], text: [65])),
      (
        "removals that overlap",
        edit(replicas: [a], removing: [[0, 1, 0, 3], [0, 1, 2, 1]], text: [])
      ),
      ("nothing removed", edit(replicas: [a], removing: [[0, 1, 0, 0]], text: [])),
      ("an offset beyond all", edit(replicas: [a], removing: [[0, 1, 1 << 24, 1]], text: [])),
      ("an end beyond all", edit(replicas: [a], removing: [[0, 1, 5, 1 << 24]], text: [])),
      ("a sequence beyond all", edit(replicas: [a], removing: [[0, 1 << 41, 0, 1]], text: [])),
      ("a count without content", [1, 0, 0xC0, 0x84, 0x3D, 0]),
      ("two scalars torn apart", [1, 0, 0, 2, 0, 1, 0, 1, 0xC3, 0xA9]),
    ]
    for (what, bytes) in cases { #expect(refusal(bytes) != nil, "\(what)") }
  }

  /// Both would make the element (author, sequence, 0), and which one counts would depend on what the
  /// first waits for.
  @Test func `an operation that changes one text twice can be read by nobody`() {
    func error(
      _ rows: [(key: UInt8, life: UInt32, column: UInt8)], tables: [String] = ["note"]
    ) -> WireError? {
      var writer = ByteWriter()
      for table in tables {
        writer.append(
          block: BodyBlock(
            table: table, keyColumns: ["id"],
            columns: [
              .init(name: "a", rule: MergeRule.Kind.text.rawValue),
              .init(name: "b", rule: MergeRule.Kind.text.rawValue),
            ]))
        for row in rows {
          writer.append(row: .update, life: row.life)
          writer.append(Value.blob([row.key]))
          writer.append(byte: 1 << row.column)
          writer.append(Value.blob(edit(text: [65 + row.key])))
        }
        writer.appendEndOfBlock()
      }
      let envelope = SyncOperation.Envelope(
        replica: RowReplica.id(1), sequence: 1, time: HybridTime(milliseconds: 1))
      return SyncOperation(envelope, body: writer.bytes).bodyError()
    }
    #expect(error([(1, 1, 0), (2, 1, 0), (1, 1, 1), (1, 3, 0)]) == nil)
    #expect(error([(1, 1, 0), (2, 1, 0), (1, 1, 0)])?.code == .malformed)
    #expect(error([(1, 1, 0)], tables: ["note", "other"]) == nil)
    #expect(error([(1, 1, 0)], tables: ["note", "Note"])?.code == .malformed)
  }

  @Test func `edits that name what never was wait, and cost nobody anything`() throws {
    var replica = TextSequence()
    let (a, b) = (RowReplica.id(1), RowReplica.id(2))
    _ = replica.apply(.initial(Array("kept".utf8)), by: a, 1)
    let waiting: [[UInt8]] = [
      edit(replicas: [b], removing: [[0, 7, 3, 2]], text: []),
      edit(replicas: [b], parent: [2, 1, 0], text: [65]),
      edit(replicas: [a], parent: [3, 99, 0], text: [66]),
    ]
    for (index, bytes) in waiting.enumerated() {
      let change = try bytes.withUnsafeBytes { try TextChange($0) }
      // Its own future, and another's.
      let hasChanged = replica.apply(change, by: b, UInt64(index + 1))
      #expect(!hasChanged)
    }
    #expect(replica.waitingCount == 3)
    #expect(replica.text == Array("kept".utf8))
    #expect(try TextHistory.read(replica).stored == replica.stored)
  }
}
