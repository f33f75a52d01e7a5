import Foundation
import GRDB
import Tern
import TestDevice
import Testing

private let creation = """
  CREATE TABLE list (id TEXT NOT NULL PRIMARY KEY, name TEXT UNIQUE);
  CREATE TABLE item (
    id TEXT NOT NULL PRIMARY KEY, list TEXT NOT NULL REFERENCES list ON DELETE CASCADE,
    n INTEGER NOT NULL DEFAULT 0, photo TEXT);
  """
private let tables = [
  SyncTable("item", merge: ["n": .counter], local: ["photo"]), SyncTable("list"),
]
private let start = """
  INSERT INTO list VALUES ('1', 'a'), ('2', 'b');
  INSERT INTO item VALUES ('i', '1', 7, 'p'), ('j', '2', 1, NULL), ('k', '2', 1, NULL);
  """

@Suite("Undo: rows of an older file come back")
struct UndoKeptRowsTests {
  /// Two devices that have met, and a file with what they had then.
  private func withFile(_ body: (Device, Device, String) async throws -> Void) async throws {
    let (a, b) = try Device.pair(SyncSchema(version: 1, tables: tables), creation)
    try a.commit(start)
    try meet(a, b)
    try await a.withKeptFile { try await body(a, b, $0) }
  }

  @Test func `a file from before its table was rekeyed brings nothing, and NULL keys do no harm`()
    async throws
  {
    let (a, _) = try Device.pair(SyncSchema(version: 1, tables: tables), creation)
    try a.commit(start)
    let path = NSTemporaryDirectory() + "/tern-kept-\(UUID().uuidString).sqlite"
    defer { try? FileManager.default.removeItem(atPath: path) }
    let old = try DatabaseQueue(path: path)
    try await old.write { db in
      try db.execute(
        sql: """
          CREATE TABLE list (id TEXT PRIMARY KEY, name TEXT);
          INSERT INTO list VALUES (NULL, 'x'), (NULL, 'y'), ('3', 'c');
          CREATE TABLE item (id INTEGER PRIMARY KEY, list TEXT, n INTEGER, photo TEXT);
          INSERT INTO item VALUES (1, '1', 7, 'p');
          """)
    }
    try old.close()
    let restored = try await a.replica.restoreRows(fromFile: path)
    #expect(restored.missingTables == ["item"])
    #expect(try a.column("SELECT id FROM list ORDER BY id") == ["1", "2", "3"])
    #expect(try a.column("SELECT count(*) FROM item") == ["3"])
  }

  @Test func `what is missing is inserted, parents too, and the rest stays as it is`() async throws
  {
    try await withFile { a, b, path in
      try b.commit("DELETE FROM list WHERE id = '1'; UPDATE item SET n = 50 WHERE id = 'j'")
      try b.commit("DELETE FROM item WHERE id = 'k'; INSERT INTO item VALUES ('l', '2', 1, NULL)")
      try meet(a, b)
      let restored = try await a.replica.restoreRows(fromFile: path)
      #expect("\(restored)" == "rows of “item”: 2 brought back; rows of “list”: 1 brought back")
      let rows = ["i17p", "j250", "k21", "l21"]
      let items = "SELECT id || list || n || coalesce(photo, '') FROM item ORDER BY id"
      #expect(try a.column(items) == rows)
      #expect(try await a.replica.restoreRows(fromFile: path).rows.isEmpty)
      try meet(a, b)
      #expect(try b.column("SELECT id FROM item ORDER BY id") == ["i", "j", "k", "l"])
      #expect(try a.store.canonicalState() == b.store.canonicalState())
      try expectHealthy(a)
      #expect(try a.store.undo()?.rows.map(\.action) == [.removed, .removed, .removed])
      #expect(try a.column("SELECT id FROM item ORDER BY id") == ["j", "l"])
    }
  }

  @Test func `a row that its table refuses, or without its parent, is left`() async throws {
    try await withFile { a, b, path in
      try b.commit("DELETE FROM list")
      try b.commit("INSERT INTO list VALUES ('3', 'a')")
      try meet(a, b)
      let restored = try await a.replica.restoreRows(fromFile: path)
      #expect(restored.rows.count { $0.action == .left } == 2)
      #expect(try a.column("SELECT id || name FROM list ORDER BY id") == ["2b", "3a"])
      #expect(try a.column("SELECT id FROM item ORDER BY id") == ["j", "k"])
      try meet(a, b)
      try expectEqual(a, b, "list")
    }
  }

  @Test func `a file with an older schema does, and one without a table is named`() async throws {
    try await withFile { a, _, path in
      try a.commit("DELETE FROM list")
      let device = try a.upgraded(
        SyncSchema(
          version: 2,
          tables: [
            SyncTable("item", merge: ["number": .counter], local: ["photo"]), SyncTable("list"),
            SyncTable("more"),
          ]),
        """
        ALTER TABLE item RENAME COLUMN n TO number; ALTER TABLE item ADD COLUMN note DEFAULT '-';
        CREATE TABLE more (id TEXT NOT NULL PRIMARY KEY);
        """)
      let restored = try await device.replica.restoreRows(fromFile: path)
      #expect(restored.missingTables == ["more"])
      #expect(try device.column("SELECT list || note FROM item ORDER BY id") == ["1-", "2-", "2-"])
    }
  }

  @Test func `a file that is written meanwhile is an error by name, and restores nothing`()
    async throws
  {
    try await withFile { a, _, path in
      // A reader of a file in WAL mode without its log has no lock on it.
      let file = try DatabaseQueue(path: path)
      try await file.writeWithoutTransaction { try $0.execute(sql: "PRAGMA journal_mode = WAL") }
      try file.close()
      try a.commit("DELETE FROM list")
      try await a.database.writeWithoutTransaction { db in
        db.add(
          function: DatabaseFunction("touch", argumentCount: 0) { _ in
            let date = Date(timeIntervalSince1970: 1)
            try FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: path)
            return nil
          })
        try db.execute(
          sql: "CREATE TRIGGER touched AFTER INSERT ON list BEGIN SELECT touch(); END")
      }
      let operations = try a.lastSequence
      let error = await #expect(throws: InspectionError.self) {
        try await a.replica.restoreRows(fromFile: path)
      }
      #expect(error?.code == .writtenMeanwhile)
      #expect(try a.column("SELECT id FROM list").isEmpty)
      #expect(try a.lastSequence == operations)
      try a.execute("DROP TRIGGER touched")
      #expect(try await a.replica.restoreRows(fromFile: path).rows.count == 5)
      #expect(try a.column("SELECT count(*) FROM item") == ["3"])
    }
  }

  @Test func `a file that can't be read is an error, and changes nothing`() async throws {
    try await withFile { a, _, path in
      await #expect(throws: InspectionError.self) {
        try await a.replica.restoreRows(fromFile: path + "-none")
      }
      try Data("no database, but long enough to be looked at".utf8)
        .write(to: URL(fileURLWithPath: path))
      await #expect(throws: InspectionError.self) {
        try await a.replica.restoreRows(fromFile: path)
      }
      #expect(try a.column("SELECT count(*) FROM item") == ["3"])
    }
  }
}
