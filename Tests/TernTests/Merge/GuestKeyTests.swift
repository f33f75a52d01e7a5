import GRDB
import Tern
import TestDevice
import Testing

private let creation =
  "CREATE TABLE book (id TEXT NOT NULL PRIMARY KEY, title, scans INTEGER NOT NULL DEFAULT 0)"
/// The key loses its type, and there is a column more.
private let rebuild = """
  CREATE TABLE new (id NOT NULL PRIMARY KEY, title, scans INTEGER NOT NULL DEFAULT 0, year);
  INSERT INTO new (id, title, scans) SELECT id, title, scans FROM book;
  DROP TABLE book;
  ALTER TABLE new RENAME TO book;
  """

/// Rows whose keys a column's type would change wait for an upgrade that takes them as they are.
@Suite("Merge: keys that a column's type would change")
struct GuestKeyTests {
  private static func schema(_ version: UInt32, _ deletes: DeleteRule) -> SyncSchema {
    SyncSchema(
      version: version,
      tables: [SyncTable("book", merge: ["scans": .counter], deletes: deletes)])
  }

  private func device(_ id: UInt64, _ schema: SyncSchema, _ steps: String...) throws -> Device {
    try Device(DatabaseQueue(), schema, id: id, migrator: .steps(steps))
  }

  @Test(arguments: [DeleteRule.deleteWins, .updateWins])
  func `INV-01: an upgrade merges them once, and each with all of its columns`(
    _ deletes: DeleteRule
  ) throws {
    let (v1, v2) = (Self.schema(1, deletes), Self.schema(2, deletes))
    let new = try [1, 2].map { try device($0, v2, creation, rebuild) }
    // In one operation with rows whose keys every table takes.
    try new[0].commit(
      "INSERT INTO book VALUES (5, 'five', 1, 1905), (6, 'six', 1, 1906), ('a', 'text', 1, 1901)")
    try new[1].pull(from: new[0])
    for number in 1...3 {
      let device = new[number % 2]
      try device.commit(
        "UPDATE book SET scans = scans + 10, title = title || \(number), year = year + 1")
      try new[(number + 1) % 2].pull(from: device)
    }
    try new[0].commit("DELETE FROM book WHERE id = 6")
    try new[0].commit("INSERT INTO book VALUES (7.5, 'seven', 1, 1907)")

    let old = try device(3, v1, creation)
    for device in new { try old.pull(from: device) }
    #expect(try old.column("SELECT id || title || scans FROM book") == ["atext12331"])
    #expect(try old.store.counts().pending[.schema] > 0)
    // One that knows the column and not yet the keys.
    var again = try old.upgraded(v2, creation, "ALTER TABLE book ADD COLUMN year")
    #expect(try again.column("SELECT id || year FROM book") == ["a1904"])
    #expect(try again.store.counts().pending[.schema] > 0)
    again = try again.upgraded(
      Self.schema(3, deletes), creation, "ALTER TABLE book ADD COLUMN year",
      rebuild.replacing("title, scans)", with: "title, scans, year)")
        .replacing("SELECT id, title, scans FROM", with: "SELECT id, title, scans, year FROM"))
    #expect(try again.store.counts().pending[.schema] == 0)
    try new[1].pull(from: new[0])
    try expectEqual(again, new[1], "book")
    #expect(
      try again.column("SELECT typeof(id) FROM book ORDER BY id") == ["integer", "real", "text"])
    // And directly.
    let late = try device(4, v1, creation)
    for device in new { try late.pull(from: device) }
    try expectEqual(late.upgraded(v2, creation, rebuild), new[1], "book")
  }
}
