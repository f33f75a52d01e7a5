import GRDB
import Tern
import TestDevice
import Testing

private let creation = """
  CREATE TABLE note (id TEXT NOT NULL PRIMARY KEY, body TEXT NOT NULL DEFAULT '', name)
  """

private let schema = SyncSchema(version: 1, tables: [SyncTable("note", merge: ["body": .text])])

private func pair(_ body: String) throws -> (Device, Device) {
  let (a, b) = try Device.pair(schema, creation)
  try a.execute("INSERT INTO note VALUES ('1', ?, 'n')", [body])
  try meet(a, b)
  return (a, b)
}

/// Two whose databases keep their texts in an encoding.
private func encoded(_ encoding: String) throws -> (Device, Device) {
  let devices = try (1...2).map { id in
    var configuration = Configuration()
    configuration.prepareDatabase { try $0.execute(sql: "PRAGMA encoding = '\(encoding)'") }
    return try Device(
      schema, id: UInt64(id), database: DatabaseQueue(configuration: configuration)
    ) { try $0.execute(sql: creation) }
  }
  #expect(try devices[0].column("PRAGMA encoding")[0]?.hasPrefix(encoding) == true)
  return (devices[0], devices[1])
}

extension Device {
  fileprivate func draft() throws -> TextDraft {
    try #require(
      try database.read { try replica.draft("note", key: ["1"], column: "body", in: $0) })
  }

  fileprivate func save(_ draft: inout TextDraft) throws {
    let isThere = try database.write { try replica.save(&draft, in: $0) }
    #expect(isThere)
  }

  fileprivate var body: String {
    get throws { try #require(try column("SELECT body FROM note")[0]) }
  }
}

@Suite("Text: drafts")
struct TextDraftTests {
  @Test func `a draft's edits travel as they were made, where a difference could only guess`()
    async throws
  {
    let (a, b) = try pair("abab")
    var draft = try a.draft()
    // The difference would be an insertion at the end, or at the beginning.
    draft.insert("ab", at: 2)
    #expect(draft.text == "ababab" && draft.count == 6 && draft.hasEdits)
    try a.save(&draft)
    #expect(!draft.hasEdits)
    try b.execute("UPDATE note SET body = 'ab|ab'")
    try meet(a, b)
    let text = try a.body
    #expect(text == "abab|ab" || text == "ab|abab")
    try expectEqual(a, b, "note")
    #expect(try a.rows("SELECT count(*) FROM grdb_tern_main_splice") == [[0.databaseValue]])
  }

  @Test func `several saves before one seal are one change of what is left of them`() async throws {
    let (a, b) = try pair("one three")
    var draft = try a.draft()
    draft.insert("twoo ", at: 4)
    try a.save(&draft)
    draft.remove(6..<7)
    try a.save(&draft)
    draft.replace(0..<3, with: "1")
    try a.save(&draft)
    #expect(try a.store.seal().count == 1)
    try meet(a, b)
    #expect(try b.body == "1 two three")
    let history = try await b.replica.history("note", key: ["1"])
    let content = try #require(history.changes.last?.columns.first?.content)
    #expect(content == .text(inserted: ["1", "two "], removed: 3))
  }

  @Test func `a draft keeps what a merge or plain SQL brought meanwhile`() throws {
    let (a, b) = try pair("The fox")
    var draft = try a.draft()
    draft.insert("quick ", at: 4)
    draft.insert(" jumps", at: draft.count)
    try b.execute("UPDATE note SET body = 'See: ' || body")
    try meet(a, b)
    try a.execute("UPDATE note SET body = body || '!'")
    try a.save(&draft)
    #expect(draft.text == "See: The quick fox! jumps")
    try meet(a, b)
    #expect(try b.body == "See: The quick fox! jumps")
    try expectEqual(a, b, "note")
    // What was not saved is nobody's business.
    var other = try a.draft()
    other.write("See: the quick fox")
    #expect(other.delta.steps.count > 1)
    #expect(try a.body == "See: The quick fox! jumps")
  }

  @Test func `plain SQL between two saves costs the exact edits, and no text`() throws {
    let (a, b) = try pair("base")
    var draft = try a.draft()
    draft.insert("1", at: 0)
    try a.save(&draft)
    try a.execute("UPDATE note SET body = upper(body)")
    draft.insert("2", at: 0)
    try a.save(&draft)
    try meet(a, b)
    #expect(try b.body == "21BASE")
    try expectEqual(a, b, "note")
  }

  @Test func `a draft that is rolled back leaves nothing, and one of a gone row says so`() throws {
    let (a, _) = try pair("base")
    var draft = try a.draft()
    draft.insert("x", at: 0)
    var copy = draft
    #expect(throws: CancellationError.self) {
      try a.database.write { db in
        _ = try a.replica.save(&copy, in: db)
        throw CancellationError()
      }
    }
    #expect(try a.body == "base")
    #expect(try a.store.seal().isEmpty)
    try a.execute("DELETE FROM note")
    let isThere = try a.database.write { try a.replica.save(&draft, in: $0) }
    #expect(!isThere && draft.hasEdits)
    for (table, column) in [("note", "name"), ("note", "none"), ("none", "body")] {
      #expect(throws: RowLookupError.self) {
        try a.database.read {
          try a.replica.draft(table, key: ["1"], column: column, in: $0)
        }
      }
    }
  }

  @Test func `positions count scalars, and UTF-16 is converted`() throws {
    var draft = TextDraft("a🐦é", table: "note", column: "body", key: ["1"])
    #expect(draft.count == 3)
    #expect((0...4).map { draft.scalarOffset(utf16: $0) } == [0, 1, 1, 2, 3])
    draft.replace(1..<2, with: "🐧🐧")
    draft.write("a🐧é\u{0}")
    #expect(draft.text == "a🐧é\u{0}")
    let (a, b) = try pair("")
    var empty = try a.draft()
    empty.insert(draft.text, at: 0)
    try a.save(&empty)
    try meet(a, b)
    #expect(try b.rows("SELECT hex(body) FROM note") == [["61F09F90A7C3A900".databaseValue]])
  }

  @Test(arguments: ["UTF-8", "UTF-16"])
  func `a draft reads and writes whatever encoding its database has`(_ encoding: String) throws {
    let (a, b) = try encoded(encoding)
    try a.execute("INSERT INTO note VALUES ('1', 'Straße 🐦', 'n')")
    try meet(a, b)
    var draft = try a.draft()
    #expect(draft.text == "Straße 🐦")
    draft.insert("é\u{0}", at: 0)
    try a.save(&draft)
    #expect(try a.draft().text == "é\u{0}Straße 🐦")
    #expect(try a.column("SELECT unicode(body) || typeof(body) FROM note") == ["233text"])
    try b.execute("UPDATE note SET body = body || '!'")
    try meet(a, b)
    for device in [a, b] { #expect(try device.draft().text == "é\u{0}Straße 🐦!") }
    try expectEqual(a, b, "note")
  }

  @Test(arguments: ["UTF-8", "UTF-16"])
  func `a draft finds its row by any key`(_ encoding: String) throws {
    let (a, _) = try encoded(encoding)
    // GRDB would end a text that it binds at its U+0000.
    try a.execute(
      """
      INSERT INTO note VALUES ('k', 'whole', 'n'), ('k' || char(0) || '1', 'first', 'n'),
        ('k' || char(0) || '2', 'second', 'n')
      """)
    var draft = try #require(
      try a.database.read {
        try a.replica.draft("note", key: [.string("k\u{0}2")], column: "body", in: $0)
      })
    #expect(draft.text == "second")
    draft.insert("the ", at: 0)
    try a.save(&draft)
    #expect(try a.column("SELECT body FROM note") == ["whole", "first", "the second"])
  }

  @Test func `an observation of a draft sees what others write to its column`() async throws {
    let (a, _) = try pair("one")
    let observation = ValueObservation.tracking {
      try a.replica.draft("note", key: ["1"], column: "body", in: $0)?.text
    }
    var texts = observation.values(in: a.database).makeAsyncIterator()
    try await expectNext("one", &texts)
    try a.execute("UPDATE note SET body = 'two'")
    try await expectNext("two", &texts)
    var draft = try a.draft()
    draft.write("three")
    try a.save(&draft)
    try await expectNext("three", &texts)
  }
}
