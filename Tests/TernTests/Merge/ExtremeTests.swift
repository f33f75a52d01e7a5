import GRDB
import Rehearsals
import Tern
import TestDevice
import Testing

/// What is as large as it may become, and formed as no honest device forms it: it is merged, read,
/// cut into a snapshot and loaded elsewhere, and takes no more than its size says.
@Suite("Merge: sets, texts and rows of extreme sizes", .timeLimit(.minutes(5)))
struct ExtremeTests {
  private static func device(_ id: UInt64) throws -> Device {
    let item = SyncTable("item", merge: ["tags": .set, "body": .text])
    return try Device(SyncSchema(version: 3, tables: [item]), id: id) {
      try $0.execute(
        sql: """
          CREATE TABLE item (id TEXT NOT NULL PRIMARY KEY, name TEXT,
            tags TEXT NOT NULL DEFAULT '[]', body TEXT NOT NULL DEFAULT '')
          """)
    }
  }

  /// A device that has merged these, in pages as a remote gives them.
  private func merged(_ operations: [SyncOperation]) throws -> Device {
    let device = try Self.device(1)
    for start in stride(from: 0, to: operations.count, by: 5_000) {
      try device.merge(Array(operations[start..<min(start + 5_000, operations.count)]))
    }
    #expect(try device.store.counts().pending[.unreadable] == 0)
    return device
  }

  /// Has another device load a snapshot of this one, and both go on from there.
  ///
  /// - Parameter id: the other's.
  /// - Returns: the bytes of the snapshot, unpacked.
  private func travel(_ device: Device, to id: UInt64 = 2) throws -> Int {
    let parts = try Parts(of: device)
    let other = try Self.device(id)
    try other.load(parts)
    let rows = "SELECT * FROM item ORDER BY id"
    try other.commit("UPDATE item SET name = 'later'")
    try device.pull(from: other)
    #expect(try device.column("SELECT name FROM item") == ["later"])
    for each in [device, other] {
      #expect(try each.store.counts().largeRows == [:])
      #expect(try each.database.read { try DatabaseDiagnosis($0) }.findings.map(\.check) == [])
    }
    #expect(try other.rows(rows) == device.rows(rows))
    #expect(try other.store.canonicalState() == device.store.canonicalState())
    return try parts.parts.reduce(0) { try $0 + SnapshotPart.content(of: $1).count }
  }

  // MARK: - Sets

  /// In operations of as many elements as one may bring.
  private func additions(_ count: Int) -> [SyncOperation] {
    var forger = Forger()
    return stride(from: 0, to: count, by: 100_000).map { start in
      let added = (start..<min(start + 100_000, count)).map { SQLiteValue.integer(Int64($0)) }
      return forger.row(
        Forger.packed(.blob(SetChange(added: added).bytes)),
        columns: [("tags", MergeRule.Kind.set.rawValue)])
    }
  }

  @Test func `a set of a million elements is one like others, and an app can't make it larger`()
    throws
  {
    let count = Rehearsal.count(1_000_000, short: 200_000)
    let quarter = try travel(merged(additions(count / 4)))
    let device = try merged(additions(count))
    #expect(try device.column("SELECT json_array_length(tags) FROM item") == ["\(count)"])
    // Later numbers have a byte more.
    #expect(try travel(device) <= 5 * quarter)
    let error = #expect(throws: DatabaseError.self) {
      try device.execute("UPDATE item SET tags = json_insert(tags, '$[#]', 'one more')")
    }
    #expect(error?.message?.contains("set tags must not grow to more than 10000 elements") == true)
    try device.commit("UPDATE item SET tags = json_remove(tags, '$[0]')")
    #expect(try device.column("SELECT json_array_length(tags) FROM item") == ["\(count - 1)"])
    #expect(try travel(device, to: 3) <= 5 * quarter)
  }

  // MARK: - Texts

  private struct Parent {
    var author = Forger.id
    let sequence: UInt64
    var offset = 0
    var isBefore = false
  }

  /// Writes `count` letters at each place; `nil` is the text's beginning.
  private static func edit(_ forger: inout Forger, at parents: [Parent?], count: Int = 1)
    -> SyncOperation
  {
    var writer = ByteWriter()
    writer.append(byte: 1)
    let replicas = Set(parents.compactMap { $0?.author }).sorted()
    writer.append(varint: UInt64(replicas.count))
    for replica in replicas { writer.append(replica: replica) }
    writer.append(varint: 0)
    writer.append(varint: UInt64(parents.count))
    for parent in parents {
      if let parent {
        let index = replicas.firstIndex(of: parent.author)! + 1
        writer.append(varint: UInt64(index << 1 | (parent.isBefore ? 1 : 0)))
        writer.append(varint: parent.sequence)
        writer.append(varint: UInt64(parent.offset))
      } else {
        writer.append(varint: 0)
      }
      writer.append(varint: UInt64(count))
    }
    writer.append(raw: [UInt8](repeating: 65, count: parents.count * count))
    return forger.row(
      Forger.packed(.blob(writer.bytes)), columns: [("body", MergeRule.Kind.text.rawValue)])
  }

  private static func author(_ number: Int) -> ReplicaID {
    ReplicaID(high: 7, low: UInt64(number))
  }

  struct Shape: CustomTestStringConvertible {
    let testDescription: String
    /// How much of it there is, in a long rehearsal and in a short one.
    let counts: (long: Int, short: Int)
    let operations: @Sendable (Int) -> [SyncOperation]
    var letters: @Sendable (Int) -> Int = { $0 }
  }

  static let shapes = [
    Shape(
      testDescription: "each letter before the last one, the deepest tree", counts: (10_000, 1_000)
    ) { count in
      var forger = Forger()
      return (0..<UInt64(count)).map { number in
        edit(&forger, at: [number == 0 ? nil : Parent(sequence: number, isBefore: true)])
      }
    },
    Shape(testDescription: "each author's letter at the beginning", counts: (9_000, 1_000)) {
      count in
      (0..<count).map { number in
        var forger = Forger(author: author(number))
        return edit(&forger, at: [nil])
      }
    },
    Shape(
      testDescription: "a letter behind each, the last one first", counts: (100_000, 10_000),
      operations: { count in
        var forger = Forger()
        let run = edit(&forger, at: [nil], count: count)
        let places = (0..<count).reversed().map { Parent(sequence: 1, offset: $0) }
        return [run, edit(&forger, at: places)]
      }, letters: { 2 * $0 }),
    Shape(
      testDescription: "each letter behind the other author's, all before the first",
      counts: (2_000, 500),
      operations: { count in
        let (first, second) = (author(1), author(2))
        var (one, two, start) = (Forger(author: first), Forger(author: second), Forger())
        let theirs = (1...UInt64(count)).map { number in
          edit(&one, at: [Parent(author: second, sequence: number)])
        }
        let others = (1...UInt64(count)).map { number in
          edit(
            &two,
            at: [
              number == 1
                ? Parent(sequence: 1) : Parent(author: first, sequence: number - 1)
            ])
        }
        return theirs + others + [edit(&start, at: [nil])]
      }, letters: { 2 * $0 + 1 }),
  ]

  @Test(arguments: shapes)
  func `a text's form costs no more than its length`(_ shape: Shape) throws {
    let count = Rehearsal.count(shape.counts.long, short: shape.counts.short)
    /// As it came, and once more when the app has changed it.
    func lengths(_ count: Int) throws -> [Int] {
      let device = try merged(shape.operations(count))
      #expect(
        try device.column("SELECT length(body) FROM item") == ["\(shape.letters(count))"])
      let first = try travel(device)
      try device.commit("UPDATE item SET body = substr(body, 2) || 'end'")
      #expect(
        try device.column("SELECT length(body) FROM item") == ["\(shape.letters(count) + 2)"])
      return [first, try travel(device, to: 3)]
    }
    for (whole, quarter) in try zip(lengths(count), lengths(count / 4)) {
      #expect(whole <= 5 * quarter)
    }
  }

  // MARK: - Lives

  @Test func `a row that was deleted 60,000 times is as long as any other`() throws {
    func lives(_ count: Int) -> [SyncOperation] {
      var forger = Forger()
      return (1..<2 * count).map { life in
        forger.write {
          $0.append(
            block: BodyBlock(table: "item", keyColumns: ["id"], columns: []))
          $0.append(row: life.isMultiple(of: 2) ? .delete : .insert, life: UInt32(life))
          $0.append(raw: Forger.packed("forged"))
          $0.appendEndOfBlock()
        }
      }
    }
    let count = Rehearsal.count(60_000, short: 6_000)
    let few = try travel(merged(lives(2)))
    let device = try merged(lives(count))
    #expect(try device.store.canonicalState().map(\.life) == [UInt32(2 * count - 1)])
    // The life itself is some bytes longer.
    #expect(try travel(device) <= few + 32)
    try device.commit("DELETE FROM item")
    try device.commit("INSERT INTO item (id) VALUES ('forged')")
    #expect(try device.store.canonicalState().map(\.life) == [UInt32(2 * count + 1)])
    #expect(try travel(device, to: 3) <= few + 96)
  }
}
