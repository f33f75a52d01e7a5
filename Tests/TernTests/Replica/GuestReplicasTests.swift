import GRDB
import Tern
import TestDevice
import Testing

private let creation = """
  CREATE TABLE book (id TEXT NOT NULL PRIMARY KEY, title TEXT);
  CREATE TABLE task (
    id TEXT NOT NULL PRIMARY KEY, title TEXT, note TEXT, done INTEGER NOT NULL DEFAULT 0);
  """
private let books = SyncSchema(version: 1, tables: [SyncTable("book")])

private func tasks(_ version: UInt32, _ renamed: [String: String] = [:]) -> SyncSchema {
  SyncSchema(
    version: version,
    tables: [SyncTable("task", merge: ["done": .counter], formerColumnNames: renamed)])
}

/// Replicas "main" of the books and "work" of the tasks, in one database, as an app opens them: the
/// first with the migrator of both.
private struct Both {
  var main: Device
  var work: Device

  init(id: UInt64) throws {
    main = try Device(DatabaseQueue(), books, id: id, migrator: .steps([creation]))
    work = try Device(main.database, tasks(1), id: id + 10, name: "work")
  }

  mutating func upgradeMain(_ steps: String...) throws {
    main = try Device(main.database, books, id: 99, migrator: .steps([creation] + steps))
  }

  mutating func openWork(_ schema: SyncSchema) throws {
    work = try Device(main.database, schema, id: 98, name: "work")
  }

  var triggersOfWork: [String?] {
    get throws {
      try main.column(
        "SELECT name FROM sqlite_master WHERE type = 'trigger' AND name GLOB 'grdb_tern_work_*' "
          + "ORDER BY name")
    }
  }
}

/// A migration is of the database, which several replicas share.
@Suite("Replica: several replicas in one database")
struct GuestReplicasTests {
  @Test func `a migration of one replica's opening meets no trigger of another`() throws {
    var (a, b) = (try Both(id: 1), try Both(id: 2))
    try a.work.execute("INSERT INTO task VALUES ('1', 'write', 'n', 0), ('2', 'read', 'n', 0)")
    try meet(a.work, b.work)
    // Noted, and in no operation yet.
    try a.work.execute("UPDATE task SET note = 'before', done = done + 1 WHERE id = '1'")
    try a.upgradeMain("ALTER TABLE task DROP COLUMN note", "UPDATE task SET title = upper(title)")
    #expect(try a.work.store.counts().unsealedChanges == 0)
    #expect(try a.work.store.counts().operations == 2)
    try a.openWork(tasks(2))
    // What the migration wrote is not captured, and what came before it is.
    #expect(try a.work.store.counts().operations == 2)
    try b.work.pull(from: a.work)
    #expect(
      try b.work.column("SELECT title || note || done FROM task ORDER BY id")
        == ["writebefore1", "readn0"])
  }

  @Test func `what is written before the other replica is opened again is captured`() throws {
    var (a, b) = (try Both(id: 1), try Both(id: 2))
    try a.work.execute("INSERT INTO task VALUES ('1', 'write', 'n', 0), ('2', 'read', 'n', 0)")
    try meet(a.work, b.work)
    let triggers = try a.triggersOfWork
    try a.upgradeMain(
      """
      CREATE TABLE new_task (
        done INTEGER NOT NULL DEFAULT 0, name TEXT, id TEXT NOT NULL PRIMARY KEY, extra TEXT);
      INSERT INTO new_task SELECT done, title, id, 'x' FROM task;
      DROP TABLE task;
      ALTER TABLE new_task RENAME TO task;
      """)
    #expect(try a.triggersOfWork == triggers)
    try a.main.execute("UPDATE task SET done = done + 2, extra = 'y' WHERE id = '1'")
    try a.main.execute("DELETE FROM task WHERE id = '2'")
    #expect(throws: DatabaseError.self) { try a.main.execute("UPDATE task SET done = 'no number'") }
    try a.openWork(tasks(2, ["name": "title"]))
    try a.main.execute("UPDATE task SET name = 'after' WHERE id = '1'")
    try b.work.pull(from: a.work)
    #expect(try b.work.column("SELECT title || note || done FROM task") == ["writen2"])
    try b.openWork(tasks(1))
    // The last: of the writes between, which are sealed under the column's new name, none is to it.
    #expect(try b.work.store.counts().pending[.schema] == 1)
  }

  @Test func `a replica whose table a migration takes away is in nobody's way`() throws {
    var both = try Both(id: 1)
    try both.work.execute("INSERT INTO task VALUES ('1', 'write', 'n', 0)")
    try both.upgradeMain("DROP TABLE task")
    #expect(try both.triggersOfWork == [])
    try both.main.execute("INSERT INTO book VALUES ('1', 'Dune')")
    #expect(try both.main.store.seal().count == 1)
    // A table that comes again under another key is captured by nobody, and can be written to.
    try both.upgradeMain(
      "DROP TABLE task", "CREATE TABLE task (name TEXT NOT NULL PRIMARY KEY, title, done)")
    try both.main.execute("INSERT INTO task VALUES ('1', 'write', 1)")
    #expect(try both.triggersOfWork == [])
  }

  @Test func `a migration that fails leaves both captured`() throws {
    var both = try Both(id: 1)
    let triggers = try both.triggersOfWork
    #expect(throws: DatabaseError.self) { try both.upgradeMain("no SQL at all") }
    #expect(try both.triggersOfWork == triggers)
    try both.main.execute("INSERT INTO book VALUES ('1', 'Dune')")
    try both.main.execute("INSERT INTO task VALUES ('1', 'write', 'n', 0)")
    #expect(try both.main.store.seal().count == 1)
    #expect(try both.work.store.seal().count == 1)
  }

  @Test func `the triggers of another that a process died without are put back`() throws {
    var both = try Both(id: 1)
    let triggers = try both.triggersOfWork
    try both.main.database.write { db in
      for name in triggers { try db.execute(sql: "DROP TRIGGER \(name!)") }
    }
    try both.upgradeMain()
    #expect(try both.triggersOfWork == triggers)
  }
}
