import GRDB
import Tern
import TestDevice
import Testing

@Suite("Inbox: columns that came before or after a row was kept out")
struct InboxColumnTests {
  private static let book = """
    CREATE TABLE book (
      id TEXT NOT NULL PRIMARY KEY, title TEXT CHECK (title <> 'never'), thumb TEXT)
    """
  private static let added = "ALTER TABLE book ADD COLUMN pages INTEGER DEFAULT 100"

  @Test func `one has a value for a column that came before it or after it`() async throws {
    let tables = [SyncTable("book", local: ["thumb"])]
    let (v1, v2) = (SyncSchema(version: 1, tables: tables), SyncSchema(version: 2, tables: tables))
    let a = try Device(v1, id: 1) {
      try $0.execute(sql: Self.book.replacing("CHECK (title <> 'never')", with: ""))
    }
    try a.execute("INSERT INTO book VALUES ('1', 'never', 'own')")
    let early = try Device(DatabaseQueue(), v1, id: 2, migrator: .steps([Self.book]))
    try early.pull(from: a)
    let devices = [
      try Device(early.database, v2, id: 2, migrator: .steps([Self.book, Self.added])),
      try Device(DatabaseQueue(), v2, id: 3, migrator: .steps([Self.book, Self.added])),
    ]
    for device in devices {
      try device.pull(from: a)
      let row = try #require(try await device.replica.inbox().first)
      #expect(row.kind == .refused)
      #expect(row.values["title"] == .string("never"))
      #expect(row.values["pages"] == .integer(100) && row.values["thumb"] == .null)
    }
  }
}
