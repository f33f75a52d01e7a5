import SeededRandom
import TernCore
import Testing

/// Texts from peers that mean harm, or from a broken disk.
@Suite("Text: texts from hostile peers and broken disks")
struct TextHostileTests {
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

  private static func read(_ bytes: [UInt8], isTrusted: Bool = false) throws(WireError)
    -> TextSequence
  {
    try bytes.withUnsafeBytes { buffer in
      Result { () throws(WireError) in try TextSequence(stored: buffer, isTrusted: isTrusted) }
    }.get()
  }

  /// A state of one author, in the numbers that `TextSequence+Stored.swift` writes.
  private func state(
    operations: [UInt64], pieces: [[UInt64]], waiting: [(sequence: UInt64, edit: [UInt8])] = [],
    text: String
  ) -> [UInt8] {
    var writer = ByteWriter()
    writer.append(varint: 1)
    writer.append(replica: RowReplica.id(1))
    for number in operations { writer.append(varint: number) }
    writer.append(varint: UInt64(pieces.count))
    for number in pieces.joined() { writer.append(varint: number) }
    writer.append(varint: UInt64(waiting.count))
    for entry in waiting {
      writer.append(replica: RowReplica.id(2))
      writer.append(varint: entry.sequence)
      writer.append(varint: UInt64(entry.edit.count))
      writer.append(raw: entry.edit)
    }
    writer.append(raw: Array(text.utf8))
    return writer.bytes
  }

  private func refusal(ofState bytes: [UInt8]) -> WireError? {
    do throws(WireError) {
      _ = try Self.read(bytes)
      return nil
    } catch {
      return error
    }
  }

  @Test func `a piece beyond all numbers is refused`() {
    // Behind the beginning, by author 0, so far from where the author's last piece ended.
    func piece(_ distance: UInt64) -> [UInt8] {
      state(operations: [1, 1, 1 << 1], pieces: [[1 << 4 | 1, 0, distance]], text: "a")
    }
    #expect(refusal(ofState: piece(0)) == nil)
    for distance: UInt64 in [1, 2, .max - 1, .max] {
      #expect(refusal(ofState: piece(distance)) == WireError(.malformed, "text piece"))
    }
  }

  @Test func `what waits has a number that operations have, and waits for something`() {
    let a = RowReplica.id(1)
    // Behind the author's second letter, which is not here, and behind the first, which is.
    let (behindNext, behind) = (
      edit(replicas: [a], parent: [2, 1, 1], text: [66]),
      edit(replicas: [a], parent: [2, 1, 0], text: [66])
    )
    func waiting(_ entries: (sequence: UInt64, edit: [UInt8])...) -> WireError? {
      refusal(
        ofState: state(
          operations: [1, 1, 1 << 1], pieces: [[1 << 4 | 1, 0, 0]], waiting: entries, text: "a"))
    }
    let last = VersionVector.maximumSequence
    #expect(waiting((1, behindNext), (1, behind), (last, behindNext)) == nil)
    for sequence in [0, last + 1, .max] {
      #expect(waiting((sequence, behindNext)) == WireError(.malformed, "text waiting"))
    }
    #expect(waiting((1, behind)) == WireError(.malformed, "text waiting"))
    #expect(waiting((1, edit(text: [66]))) == WireError(.malformed, "text waiting"))
  }

  /// Each costs what is before it where they are sorted one by one: hours.
  @Test(.timeLimit(.minutes(1)))
  func `a million letters at one place in the wrong order are refused at once`() {
    let count: UInt64 = 1_000_000
    let descending = (0..<count).map { place -> [UInt64] in
      let head: UInt64 = 1 << 4 | 8 | 3
      return place == 0 ? [head, 0, 2 * (count - 1), 0] : [head | 4, 3, 0]
    }
    let state = state(operations: [1, 1, count << 1], pieces: descending, text: "")
    #expect(refusal(ofState: state) == WireError(.malformed, "text order"))
  }

  @Test func `an author whose letters have no number left inserts no more`() throws {
    let a = RowReplica.id(1)
    let limit = UInt64(TextChange.Limit.bytes)
    let full = UInt64(UInt32.max) - 1
    let state = state(
      operations: [2, 1, limit << 1 | 1, full / limit, 0, (full % limit) << 1],
      pieces: [[full << 4 | 8 | 1, 0, 0]], text: "")
    var read = try Self.read(state, isTrusted: true)
    let change = try edit(text: [66]).withUnsafeBytes { try TextChange($0) }
    _ = read.apply(change, by: a, 1000)
    #expect(read.text == [])
    _ = read.apply(change, by: RowReplica.id(2), 1)
    #expect(read.text == [66])
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
          writer.append(SQLiteValue.blob([row.key]))
          writer.append(byte: 1 << row.column)
          writer.append(SQLiteValue.blob(edit(text: [65 + row.key])))
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
