import GRDB
import Tern
import TestDevice
import Testing

/// SQLite leaves children whose parent a statement deletes; a replica holds them aside, as others do.
@Suite("Merge: children that a delete leaves")
struct LeftChildTests {
  @Test(arguments: [
    ("TEXT", "UPDATE OR REPLACE shelf SET code = 'n' WHERE id = '2'", true),
    // No key says for sure which row the number means.
    ("", "UPDATE shelf SET up = 1 WHERE id = '2'; DELETE FROM shelf WHERE id = '1'", false),
    (
      "TEXT",
      """
      PRAGMA foreign_keys = OFF; DELETE FROM shelf WHERE id = '1'; PRAGMA foreign_keys = ON
      """, true
    ),
  ])
  func `INV-01: are held aside with the delete, and come back with their parent`(
    _ type: String, _ statements: String, _ isListed: Bool
  ) throws {
    let schema = SyncSchema(version: 1, tables: [SyncTable("shelf")])
    let devices = try (1...2).map { id in
      try Device(schema, id: UInt64(id)) {
        try $0.execute(
          sql: """
            CREATE TABLE shelf (
              id TEXT NOT NULL PRIMARY KEY, code TEXT UNIQUE,
              up \(type) REFERENCES shelf ON DELETE SET NULL)
            """)
      }
    }
    let (a, b) = (devices[0], devices[1])
    try a.commit("INSERT INTO shelf VALUES ('1', 'n', NULL), ('2', 'm', '1'), ('3', 'o', NULL)")
    try b.pull(from: a)
    // Outside of a transaction, where the pragma counts.
    try a.database.writeWithoutTransaction { try $0.execute(sql: statements) }
    try a.store.seal()
    #expect(try a.rows("PRAGMA foreign_key_check").isEmpty)
    #expect(
      try a.database.read { try a.replica.inbox(in: $0).map(\.kind) }
        == (isListed ? [.parentDeleted] : []))
    try b.pull(from: a)
    func id(_ text: String) -> [DatabaseValue] { [text.databaseValue] }
    for device in devices { #expect(try device.rows("SELECT id FROM shelf") == [id("3")]) }
    try a.commit("INSERT INTO shelf VALUES ('1', NULL, NULL)")
    try b.pull(from: a)
    for device in devices {
      #expect(
        try device.rows("SELECT id FROM shelf ORDER BY id") == ["1", "2", "3"].map { id($0) })
    }
  }
}
