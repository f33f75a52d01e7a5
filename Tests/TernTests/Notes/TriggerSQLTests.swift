import GRDB
import Tern
import TestDevice
import Testing

/// The wall clock in milliseconds, as SQLite has it.
private let now = "CAST((julianday() - 2440587.5) * 86400000.0 AS INTEGER)"

/// Whole texts, so that a review sees what a change does to them. A trigger whose text is another
/// than in an app's database is made anew when that is opened.
@Suite("Notes: the SQL of triggers")
struct TriggerSQLTests {
  @Test func `of a table that is all key, by several columns`() throws {
    let device = try Device(
      "CREATE TABLE t (a TEXT NOT NULL, b INTEGER NOT NULL, PRIMARY KEY (a, b)) WITHOUT ROWID",
      SyncTable("t"))
    #expect(
      try device.triggers == """
        CREATE TRIGGER grdb_tern_main_delete_1 AFTER DELETE ON "t" BEGIN
          INSERT INTO grdb_tern_main_note_1 (ms, m0, k0, k1) VALUES (\(now), NULL, OLD."a", \
        OLD."b");
        END

        CREATE TRIGGER grdb_tern_main_insert_1 AFTER INSERT ON "t" BEGIN
          INSERT INTO grdb_tern_main_note_1 (ms, m0, k0, k1) VALUES (\(now), -1, NEW."a", NEW."b");
        END

        CREATE TRIGGER grdb_tern_main_key_1 AFTER UPDATE OF "a", "b" ON "t" WHEN OLD."a" IS NOT \
        NEW."a" OR OLD."b" IS NOT NEW."b" BEGIN
          INSERT INTO grdb_tern_main_note_1 (ms, m0, k0, k1) VALUES (\(now), NULL, OLD."a", \
        OLD."b");
          INSERT INTO grdb_tern_main_note_1 (ms, m0, k0, k1) VALUES (\(now), -1, NEW."a", NEW."b");
        END
        """)
  }

  @Test func `of a table with columns, one of which can hold 1 beside 1.0`() throws {
    let device = try Device(
      "CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY, \"a\"\"b\" TEXT, c)", SyncTable("t"))
    #expect(
      try device.triggers == """
        CREATE TRIGGER grdb_tern_main_delete_1 AFTER DELETE ON "t" BEGIN
          INSERT INTO grdb_tern_main_note_1 (ms, m0, k0) VALUES (\(now), NULL, OLD."id");
        END

        CREATE TRIGGER grdb_tern_main_insert_1 AFTER INSERT ON "t" BEGIN
          INSERT INTO grdb_tern_main_note_1 (ms, m0, k0) VALUES (\(now), -1, NEW."id");
        END

        CREATE TRIGGER grdb_tern_main_key_1 AFTER UPDATE OF "id" ON "t" WHEN OLD."id" IS NOT \
        NEW."id" BEGIN
          INSERT INTO grdb_tern_main_note_1 (ms, m0, k0) VALUES (\(now), NULL, OLD."id");
          INSERT INTO grdb_tern_main_note_1 (ms, m0, k0) VALUES (\(now), -1, NEW."id");
        END

        CREATE TRIGGER grdb_tern_main_update_1 AFTER UPDATE OF "a""b", "c" ON "t" BEGIN
          INSERT INTO grdb_tern_main_note_1 (ms, m0, k0) VALUES (\(now), ((OLD."a""b" IS NOT \
        NEW."a""b" COLLATE BINARY)) | ((CASE WHEN OLD."c" IS NOT NEW."c" COLLATE BINARY THEN 1 \
        ELSE typeof(OLD."c") <> typeof(NEW."c") END) << 1), NEW."id");
        END
        """)
  }

  /// What a counter, a text and a set take.
  private static let guards = #"""
      SELECT RAISE(ABORT, 'tern: the counter n must hold a 64-bit whole number') WHERE \#
    typeof(NEW."n") <> 'integer';
      SELECT RAISE(ABORT, 'tern: the text body must hold a text') WHERE typeof(NEW."body") <> \#
    'text';
      SELECT RAISE(ABORT, 'tern: the set tags must hold a JSON array of texts and numbers') \#
    WHERE CASE WHEN typeof(NEW."tags") <> 'text' THEN 1 WHEN NOT json_valid(NEW."tags") THEN 1
    WHEN json_type(NEW."tags") <> 'array' THEN 1 WHEN instr(NEW."tags", '\u0000') THEN 1
    ELSE EXISTS (SELECT 1 FROM json_each(NEW."tags") WHERE type NOT IN ('text', 'integer', \#
    'real')
    OR typeof(atom) = 'real' AND abs(atom) > 1.7976931348623157e308) END;
    """#

  @Test func `of columns that do not take everything`() throws {
    let device = try Device(
      """
      CREATE TABLE t (
        id TEXT NOT NULL PRIMARY KEY, n INTEGER NOT NULL DEFAULT 0,
        body TEXT NOT NULL DEFAULT '', tags TEXT NOT NULL DEFAULT '[]')
      """, SyncTable("t", merge: ["n": .counter, "body": .text, "tags": .set]))
    #expect(
      try device.triggers == #"""
        CREATE TRIGGER grdb_tern_main_delete_1 AFTER DELETE ON "t" BEGIN
          INSERT INTO grdb_tern_main_note_1 (ms, m0, k0) VALUES (\#(now), NULL, OLD."id");
        END

        CREATE TRIGGER grdb_tern_main_guard_insert_1 AFTER INSERT ON "t" BEGIN
        \#(Self.guards)
        END

        CREATE TRIGGER grdb_tern_main_guard_update_1 AFTER UPDATE OF "n", "body", "tags" ON "t" \#
        BEGIN
        \#(Self.guards)
        END

        CREATE TRIGGER grdb_tern_main_insert_1 AFTER INSERT ON "t" BEGIN
          INSERT INTO grdb_tern_main_note_1 (ms, m0, k0) VALUES (\#(now), -1, NEW."id");
        END

        CREATE TRIGGER grdb_tern_main_key_1 AFTER UPDATE OF "id" ON "t" WHEN OLD."id" IS NOT \#
        NEW."id" BEGIN
          INSERT INTO grdb_tern_main_note_1 (ms, m0, k0) VALUES (\#(now), NULL, OLD."id");
          INSERT INTO grdb_tern_main_note_1 (ms, m0, k0) VALUES (\#(now), -1, NEW."id");
        END

        CREATE TRIGGER grdb_tern_main_size_insert_1 BEFORE INSERT ON "t" WHEN length(NEW."tags") \#
        > 20002 BEGIN
          SELECT RAISE(ABORT, 'tern: the set tags must not grow to more than 10000 elements') \#
        WHERE CASE WHEN CASE WHEN json_valid(NEW."tags") THEN json_array_length(NEW."tags") ELSE \#
        0 END > 10000
        THEN CASE WHEN json_valid(NEW."tags") THEN json_array_length(NEW."tags") ELSE 0 END > \#
        CASE WHEN json_valid((SELECT r."tags" FROM "t" AS r WHERE r."id" = NEW."id")) THEN \#
        json_array_length((SELECT r."tags" FROM "t" AS r WHERE r."id" = NEW."id")) ELSE 0 END \#
        ELSE 0 END AND NOT EXISTS (SELECT 1 FROM grdb_tern_main_note_1 WHERE rowid = -1);
        END

        CREATE TRIGGER grdb_tern_main_size_update_1 AFTER UPDATE OF "tags" ON "t" WHEN \#
        length(NEW."tags") > 20002 BEGIN
          SELECT RAISE(ABORT, 'tern: the set tags must not grow to more than 10000 elements') \#
        WHERE CASE WHEN CASE WHEN json_valid(NEW."tags") THEN json_array_length(NEW."tags") ELSE \#
        0 END > 10000
        THEN CASE WHEN json_valid(NEW."tags") THEN json_array_length(NEW."tags") ELSE 0 END > \#
        CASE WHEN json_valid(OLD."tags") THEN json_array_length(OLD."tags") ELSE 0 END ELSE 0 END \#
        AND NOT EXISTS (SELECT 1 FROM grdb_tern_main_note_1 WHERE rowid = -1);
        END

        CREATE TRIGGER grdb_tern_main_update_1 AFTER UPDATE OF "n", "body", "tags" ON "t" BEGIN
          INSERT INTO grdb_tern_main_note_1 (ms, m0, k0) VALUES (\#(now), ((OLD."n" IS NOT \#
        NEW."n" COLLATE BINARY)) | ((OLD."body" IS NOT NEW."body" COLLATE BINARY) << 1) | \#
        ((OLD."tags" IS NOT NEW."tags" COLLATE BINARY) << 2), NEW."id");
        END
        """#)
  }

  @Test func `of a table with UNIQUE beside the key`() throws {
    let device = try Device(
      """
      CREATE TABLE t (
        id TEXT NOT NULL PRIMARY KEY, a TEXT UNIQUE, b TEXT NOT NULL DEFAULT 'none' COLLATE NOCASE,
        c INTEGER NOT NULL DEFAULT 0, UNIQUE (b, c))
      """, SyncTable("t"))
    #expect(
      try device.triggers == """
        CREATE TRIGGER grdb_tern_main_delete_1 AFTER DELETE ON "t" BEGIN
          INSERT INTO grdb_tern_main_note_1 (ms, m0, k0) VALUES (\(now), NULL, OLD."id");
        END

        CREATE TRIGGER grdb_tern_main_insert_1 AFTER INSERT ON "t" BEGIN
          INSERT INTO grdb_tern_main_note_1 (ms, m0, k0) VALUES (\(now), -1, NEW."id");
        END

        CREATE TRIGGER grdb_tern_main_key_1 AFTER UPDATE OF "id" ON "t" WHEN OLD."id" IS NOT \
        NEW."id" BEGIN
          INSERT INTO grdb_tern_main_note_1 (ms, m0, k0) VALUES (\(now), NULL, OLD."id");
          INSERT INTO grdb_tern_main_note_1 (ms, m0, k0) VALUES (\(now), -1, NEW."id");
        END

        CREATE TRIGGER grdb_tern_main_replace_1 BEFORE INSERT ON "t" BEGIN
          INSERT INTO grdb_tern_main_note_1 (ms, m0, k0) SELECT \(now), NULL, r."id" FROM "t" AS r \
        WHERE r."a" = NEW."a" COLLATE "BINARY" AND (r."id" IS NOT NEW."id");
          INSERT INTO grdb_tern_main_note_1 (ms, m0, k0) SELECT \(now), NULL, r."id" FROM "t" AS r \
        WHERE r."b" = ifnull(NEW."b", ('none')) COLLATE "NOCASE" AND r."c" = ifnull(NEW."c", (0)) \
        COLLATE "BINARY" AND (r."id" IS NOT NEW."id");
        END

        CREATE TRIGGER grdb_tern_main_replace_update_1 BEFORE UPDATE OF "a", "b", "c" ON "t" BEGIN
          INSERT INTO grdb_tern_main_note_1 (ms, m0, k0) SELECT \(now), NULL, r."id" FROM "t" AS r \
        WHERE r."a" = NEW."a" COLLATE "BINARY" AND (r."id" IS NOT OLD."id");
          INSERT INTO grdb_tern_main_note_1 (ms, m0, k0) SELECT \(now), NULL, r."id" FROM "t" AS r \
        WHERE r."b" = ifnull(NEW."b", ('none')) COLLATE "NOCASE" AND r."c" = ifnull(NEW."c", (0)) \
        COLLATE "BINARY" AND (r."id" IS NOT OLD."id");
        END

        CREATE TRIGGER grdb_tern_main_update_1 AFTER UPDATE OF "a", "b", "c" ON "t" BEGIN
          INSERT INTO grdb_tern_main_note_1 (ms, m0, k0) VALUES (\(now), ((OLD."a" IS NOT NEW."a" \
        COLLATE BINARY)) | ((OLD."b" IS NOT NEW."b" COLLATE BINARY) << 1) | ((OLD."c" IS NOT \
        NEW."c" COLLATE BINARY) << 2), NEW."id");
        END
        """)
  }

  @Test func `of a table that keeps what deleted rows held`() throws {
    let device = try Device(
      "CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY, a TEXT, l TEXT)",
      SyncTable("t", deletes: .updateWins, local: ["l"]))
    #expect(
      try device.triggers == """
        CREATE TRIGGER grdb_tern_main_delete_1 AFTER DELETE ON "t" BEGIN
          INSERT INTO grdb_tern_main_note_1 (ms, m0, k0) VALUES (\(now), NULL, OLD."id");
          INSERT INTO grdb_tern_main_gone_1 (k0, c0, l0) VALUES (OLD."id", OLD."a", OLD."l");
        END

        CREATE TRIGGER grdb_tern_main_insert_1 AFTER INSERT ON "t" BEGIN
          INSERT INTO grdb_tern_main_note_1 (ms, m0, k0) VALUES (\(now), -1, NEW."id");
        END

        CREATE TRIGGER grdb_tern_main_key_1 AFTER UPDATE OF "id" ON "t" WHEN OLD."id" IS NOT \
        NEW."id" BEGIN
          INSERT INTO grdb_tern_main_note_1 (ms, m0, k0) VALUES (\(now), NULL, OLD."id");
          INSERT INTO grdb_tern_main_gone_1 (k0, c0, l0) VALUES (OLD."id", OLD."a", OLD."l");
          INSERT INTO grdb_tern_main_note_1 (ms, m0, k0) VALUES (\(now), -1, NEW."id");
        END

        CREATE TRIGGER grdb_tern_main_update_1 AFTER UPDATE OF "a" ON "t" BEGIN
          INSERT INTO grdb_tern_main_note_1 (ms, m0, k0) VALUES (\(now), ((OLD."a" IS NOT NEW."a" \
        COLLATE BINARY)), NEW."id");
        END
        """)
  }

  @Test func `of such a table with UNIQUE beside the key`() throws {
    let device = try Device(
      "CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY, a TEXT UNIQUE)",
      SyncTable("t", deletes: .updateWins))
    #expect(
      try device.triggers == """
        CREATE TRIGGER grdb_tern_main_delete_1 AFTER DELETE ON "t" BEGIN
          INSERT INTO grdb_tern_main_note_1 (ms, m0, k0) VALUES (\(now), NULL, OLD."id");
          DELETE FROM grdb_tern_main_gone_1 WHERE maybe AND k0 = OLD."id";
          INSERT INTO grdb_tern_main_gone_1 (k0, c0) VALUES (OLD."id", OLD."a");
        END

        CREATE TRIGGER grdb_tern_main_insert_1 AFTER INSERT ON "t" BEGIN
          INSERT INTO grdb_tern_main_note_1 (ms, m0, k0) VALUES (\(now), -1, NEW."id");
        END

        CREATE TRIGGER grdb_tern_main_key_1 AFTER UPDATE OF "id" ON "t" WHEN OLD."id" IS NOT \
        NEW."id" BEGIN
          INSERT INTO grdb_tern_main_note_1 (ms, m0, k0) VALUES (\(now), NULL, OLD."id");
          DELETE FROM grdb_tern_main_gone_1 WHERE maybe AND k0 = OLD."id";
          INSERT INTO grdb_tern_main_gone_1 (k0, c0) VALUES (OLD."id", OLD."a");
          INSERT INTO grdb_tern_main_note_1 (ms, m0, k0) VALUES (\(now), -1, NEW."id");
        END

        CREATE TRIGGER grdb_tern_main_replace_1 BEFORE INSERT ON "t" BEGIN
          INSERT INTO grdb_tern_main_note_1 (ms, m0, k0) SELECT \(now), 'maybe', r."id" FROM "t" \
        AS r WHERE r."a" = NEW."a" COLLATE "BINARY" AND (r."id" IS NOT NEW."id");
          DELETE FROM grdb_tern_main_gone_1 WHERE maybe AND (k0) IN (SELECT r."id" FROM "t" AS r \
        WHERE r."a" = NEW."a" COLLATE "BINARY" AND (r."id" IS NOT NEW."id"));
          INSERT INTO grdb_tern_main_gone_1 (k0, c0, maybe) SELECT r."id", r."a", 1 FROM "t" AS r \
        WHERE r."a" = NEW."a" COLLATE "BINARY" AND (r."id" IS NOT NEW."id");
        END

        CREATE TRIGGER grdb_tern_main_replace_update_1 BEFORE UPDATE OF "a" ON "t" BEGIN
          INSERT INTO grdb_tern_main_note_1 (ms, m0, k0) SELECT \(now), 'maybe', r."id" FROM "t" \
        AS r WHERE r."a" = NEW."a" COLLATE "BINARY" AND (r."id" IS NOT OLD."id");
          DELETE FROM grdb_tern_main_gone_1 WHERE maybe AND (k0) IN (SELECT r."id" FROM "t" AS r \
        WHERE r."a" = NEW."a" COLLATE "BINARY" AND (r."id" IS NOT OLD."id"));
          INSERT INTO grdb_tern_main_gone_1 (k0, c0, maybe) SELECT r."id", r."a", 1 FROM "t" AS r \
        WHERE r."a" = NEW."a" COLLATE "BINARY" AND (r."id" IS NOT OLD."id");
        END

        CREATE TRIGGER grdb_tern_main_update_1 AFTER UPDATE OF "a" ON "t" BEGIN
          INSERT INTO grdb_tern_main_note_1 (ms, m0, k0) VALUES (\(now), ((OLD."a" IS NOT NEW."a" \
        COLLATE BINARY)), NEW."id");
        END
        """)
  }

  @Test func `of a table of more columns than one mask has bits`() throws {
    let device = try Device(
      "CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY, "
        + (0..<63).map { "c\($0) TEXT" }.joined(separator: ", ") + ")", SyncTable("t"))
    // What stands between is alike.
    let ends = try device.triggers.replacing(/(OLD."c1" IS).*("c61" COLLATE)/) {
      "\($0.1) … \($0.2)"
    }.replacing(/("c1",).*("c61",)/) { "\($0.1) … \($0.2)" }
    #expect(
      ends == """
        CREATE TRIGGER grdb_tern_main_delete_1 AFTER DELETE ON "t" BEGIN
          INSERT INTO grdb_tern_main_note_1 (ms, m0, m1, k0) VALUES (\(now), NULL, NULL, OLD."id");
        END

        CREATE TRIGGER grdb_tern_main_insert_1 AFTER INSERT ON "t" BEGIN
          INSERT INTO grdb_tern_main_note_1 (ms, m0, m1, k0) VALUES (\(now), -1, -1, NEW."id");
        END

        CREATE TRIGGER grdb_tern_main_key_1 AFTER UPDATE OF "id" ON "t" WHEN OLD."id" IS NOT \
        NEW."id" BEGIN
          INSERT INTO grdb_tern_main_note_1 (ms, m0, m1, k0) VALUES (\(now), NULL, NULL, OLD."id");
          INSERT INTO grdb_tern_main_note_1 (ms, m0, m1, k0) VALUES (\(now), -1, -1, NEW."id");
        END

        CREATE TRIGGER grdb_tern_main_update_1 AFTER UPDATE OF "c0", "c1", … "c61", "c62" ON "t" \
        BEGIN
          INSERT INTO grdb_tern_main_note_1 (ms, m0, m1, k0) VALUES (\(now), ((OLD."c0" IS NOT \
        NEW."c0" COLLATE BINARY)) | ((OLD."c1" IS … "c61" COLLATE BINARY) << 61), ((OLD."c62" IS \
        NOT NEW."c62" COLLATE BINARY)), NEW."id");
        END
        """)
  }

  @Test(arguments: [DeleteRule.deleteWins, .updateWins])
  func `of a table in which a migration left rows`(_ deletes: DeleteRule) throws {
    let creation = "CREATE TABLE t (a TEXT NOT NULL, b INTEGER NOT NULL, c, PRIMARY KEY (a, b))"
    let table = SyncTable("t", deletes: deletes)
    let device = try Device(creation, table).upgraded(
      SyncSchema(version: 1, tables: [table]), "INSERT INTO t VALUES ('a', 1, 2)")
    let standing = try device.triggers.split(separator: "\n\n").filter { $0.contains("standing") }
      .map(String.init)
    let expected =
      deletes == .updateWins
      ? """
      CREATE TRIGGER grdb_tern_main_standing_1 BEFORE INSERT ON "t" BEGIN
        INSERT INTO grdb_tern_main_note_1 (ms, m0, k0, k1) SELECT \(now), 'standing', r."a", \
      r."b" FROM "t" AS r WHERE r."a" = NEW."a" AND r."b" = NEW."b" AND 1;
      END
      """
      : """
      CREATE TRIGGER grdb_tern_main_standing_1 BEFORE INSERT ON "t" BEGIN
        INSERT INTO grdb_tern_main_note_1 (ms, m0, k0, k1) SELECT \(now), 'standing', r."a", \
      r."b" FROM "t" AS r WHERE r."a" = NEW."a" AND r."b" = NEW."b" AND NOT EXISTS (SELECT 1 FROM \
      grdb_tern_main_row_1 AS s WHERE s.k0 = +r."a" AND s.k1 = +r."b" AND s.life & 1);
      END
      """
    #expect(standing == [expected])
  }
}

extension Device {
  fileprivate init(_ creation: String, _ table: SyncTable) throws {
    try self.init(SyncSchema(version: 1, tables: [table]), id: 1) { try $0.execute(sql: creation) }
  }

  /// As SQLite keeps them, by their names.
  fileprivate var triggers: String {
    get throws {
      try column("SELECT sql FROM sqlite_master WHERE type = 'trigger' ORDER BY name")
        .map { $0! }.joined(separator: "\n\n")
    }
  }
}
