import GRDB
import TestDevice
import Testing

@testable import Tern

private let tables =
  LocalChild.list + "CREATE TABLE pin (n INTEGER PRIMARY KEY, list TEXT REFERENCES list)"

/// Migrations of a database in which a merge left local rows without their parent.
@Suite("Replica: migrations over dangling rows")
struct DanglingMigrationTests {
  private func dangling() throws -> Device {
    let (a, b) = (
      try Device(DatabaseQueue(), LocalChild.schema, id: 1, migrator: .steps([tables])),
      try Device(DatabaseQueue(), LocalChild.schema, id: 2, migrator: .steps([tables]))
    )
    try LocalChild.fill(a, b, "INSERT INTO pin VALUES (1, 'a'), (2, 'b')")
    try b.commit("DELETE FROM list WHERE id = 'a'")
    try a.pull(from: b)
    #expect(try a.rows("PRAGMA foreign_key_check").count == 1)
    return a
  }

  private func migrator(
    _ sql: String, _ checks: DatabaseMigrator.ForeignKeyChecks = .deferred
  ) -> DatabaseMigrator {
    var migrator = DatabaseMigrator.steps([tables])
    migrator.registerMigration("next", foreignKeyChecks: checks) { try $0.execute(sql: sql) }
    return migrator
  }

  private func open(_ device: Device, _ migrator: DatabaseMigrator) throws -> Device {
    try Device(device.database, LocalChild.schema, id: 1, migrator: migrator)
  }

  @Test(arguments: [DatabaseMigrator.ForeignKeyChecks.deferred, .immediate])
  func `succeed over rows that a merge left`(_ checks: DatabaseMigrator.ForeignKeyChecks) throws {
    let a = try dangling()
    let again = try open(a, migrator("ALTER TABLE list ADD COLUMN color TEXT", checks))
    #expect(try again.column("SELECT color FROM list") == [nil])
    #expect(try again.column("PRAGMA foreign_keys") == ["1"])
    // Nothing of the check stays.
    #expect(try again.column("SELECT name FROM sqlite_temp_master") == [])
    try again.execute("INSERT INTO list VALUES ('c', 'C', 'red'); INSERT INTO pin VALUES (3, 'c')")
    #expect(throws: DatabaseError.self) { try again.execute("INSERT INTO pin VALUES (4, 'd')") }
    let twice = try open(again, migrator("ALTER TABLE list ADD COLUMN color TEXT", checks))
    try twice.store.seal()
  }

  @Test func `succeed where they build the table anew, and give it another name`() throws {
    let a = try dangling()
    let again = try open(
      a,
      migrator(
        """
        CREATE TABLE "new pin" (list TEXT REFERENCES list, n INTEGER, PRIMARY KEY (n)) WITHOUT ROWID;
        INSERT INTO "new pin" SELECT list, n + 10 FROM pin;
        DROP TABLE pin; ALTER TABLE "new pin" RENAME TO "old pin";
        """))
    #expect(try again.column("SELECT list FROM \"old pin\" ORDER BY n") == ["a", "b"])
  }

  @Test(arguments: [
    "DELETE FROM list WHERE id = 'b'", "INSERT INTO pin VALUES (3, 'no')",
    "INSERT INTO pin VALUES (3, 'a')", "DROP TABLE list",
    "CREATE TABLE tack (pin INTEGER REFERENCES pin); INSERT INTO tack VALUES (7)",
  ])
  func `fail whole where a row loses its parent in them`(_ sql: String) throws {
    let a = try dangling()
    let before = try a.rows("SELECT * FROM pin, list ORDER BY 1, 2, 3")
    let error = try #require(throws: DatabaseError.self) { try open(a, migrator(sql)) }
    #expect(error.extendedResultCode == .SQLITE_CONSTRAINT_FOREIGNKEY)
    #expect(error.message?.contains("that had its parent before the migration") ?? false)
    #expect(try a.rows("SELECT * FROM pin, list ORDER BY 1, 2, 3") == before)
    #expect(try a.column("PRAGMA foreign_keys") == ["1"])
    #expect(try a.column("SELECT name FROM sqlite_temp_master") == [])
    let again = try open(a, migrator("UPDATE list SET name = 'B2'"))
    #expect(try again.column("SELECT name FROM list") == ["B2"])
  }

  @Test func `fail as ever where no merge left the rows, or foreign keys are on in them`() throws {
    let a = try dangling()
    #expect(throws: DatabaseError.self) {
      try open(a, migrator("INSERT INTO pin VALUES (3, 'no')", .immediate))
    }
    // A row of a synced table is quarantined, and not left: that is another's doing.
    try a.execute(
      "CREATE TABLE mark (pin INTEGER REFERENCES pin); DELETE FROM pin WHERE list = 'a'")
    try a.database.writeWithoutTransaction {
      try $0.execute(
        sql: "PRAGMA foreign_keys = OFF; INSERT INTO mark VALUES (9); PRAGMA foreign_keys = ON")
    }
    let error = try #require(throws: DatabaseError.self) {
      try open(a, migrator("UPDATE list SET name = 'B2'"))
    }
    #expect(error.message?.contains("mark") ?? false)
  }
}
