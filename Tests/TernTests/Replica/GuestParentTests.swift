import GRDB
import Tern
import TestDevice
import TestProcesses
import Testing

private let creation = """
  CREATE TABLE child (id TEXT NOT NULL PRIMARY KEY, parent TEXT REFERENCES parent, name)
  """
private let parent = "CREATE TABLE parent (id TEXT NOT NULL PRIMARY KEY, name)"
private let old = SyncSchema(version: 1, tables: [SyncTable("child")])
private let new = SyncSchema(version: 2, tables: [SyncTable("child"), SyncTable("parent")])

extension Device {
  fileprivate var children: [String?] {
    get throws { try column("SELECT id FROM child ORDER BY id") }
  }

  /// Runs migrations as the app does before it opens, or lets the opening run them.
  fileprivate func migrated(_ schema: SyncSchema, byItself: Bool, _ steps: String...) throws
    -> Device
  {
    let migrator = DatabaseMigrator.steps(steps)
    if byItself { try migrator.migrate(database) }
    return try Device(database, schema, id: 99, migrator: byItself ? nil : migrator)
  }

  fileprivate var listed: [SQLiteValue?] {
    get throws {
      try database.read { try replica.inbox(in: $0) }.map { $0.key.first }
    }
  }
}

/// Parents that migrations make and take away, where nothing checks foreign keys.
@Suite("Replica: parents that migrations make and take away")
struct GuestParentTests {
  private func devices(_ count: UInt64, _ schema: SyncSchema, _ steps: String...) throws -> [Device]
  {
    try (1...count).map { id in
      try Device(
        DatabaseQueue(configuration: .unchecked), schema, id: id, migrator: .steps(steps))
    }
  }

  /// GRDB makes a table and drops it as it opens a pool, which counts as a change of SQLite's schema.
  @Test func `opening a pool again is no migration`() throws {
    try withTemporaryFolder { folder in
      func open() throws -> Device {
        try Device(
          DatabasePool(path: "\(folder)/app.sqlite", configuration: .unchecked), new, id: 1,
          migrator: .steps([creation, parent]))
      }
      let openings = try (1...3).map { _ in
        let device = try open()
        let migrated = try device.column("SELECT migrated FROM grdb_tern_main_opened")
        try device.database.close()
        return migrated
      }
      #expect(Set(openings).count == 1)
    }
  }

  @Test func `a parent that a migration makes counts from then on`() throws {
    let devices = try devices(2, old, creation)
    try devices[0].execute("INSERT INTO child VALUES ('1', NULL, 'n')")
    try meet(devices[0], devices[1])
    let (a, b) = (
      try devices[0].upgraded(new, creation, parent), try devices[1].upgraded(new, creation, parent)
    )
    try a.execute("INSERT INTO child VALUES ('2', 'p', 'n')")
    try b.pull(from: a)
    #expect(try b.children == ["1"])
    try a.execute("INSERT INTO parent VALUES ('p', 'P')")
    try meet(a, b)
    #expect(try b.children == ["1", "2"])
    try expectEqual(a, b, "child", "parent")
  }

  @Test(arguments: [true, false])
  func `a child that was shown while its parent's table was missing waits for the parent`(
    byItself: Bool
  ) throws {
    let devices = try devices(2, old, creation)
    try devices[0].execute(
      "INSERT INTO child VALUES ('1', 'p', 'n'), ('2', 'q', 'n'), ('3', NULL, 'n')")
    try meet(devices[0], devices[1])
    #expect(try devices[1].children == ["1", "2", "3"])
    let known = "INSERT INTO parent VALUES ('q', 'Q')"
    let (a, b) = (
      try devices[0].migrated(new, byItself: byItself, creation, parent, known),
      try devices[1].migrated(new, byItself: byItself, creation, parent, known)
    )
    for device in [a, b] { #expect(try device.children == ["2", "3"]) }
    try meet(a, b)
    // As one that knew the parent's table all the time has it.
    let c = try Device(
      DatabaseQueue(configuration: .unchecked), new, id: 3,
      migrator: .steps([creation, parent, known]))
    try c.pull(from: a)
    for device in [a, b, c] {
      #expect(try device.children == ["2", "3"])
      #expect(try device.store.counts().quarantined == 1)
    }
    try expectEqual(a, b, "child", "parent")
    try a.execute("INSERT INTO parent VALUES ('p', 'P')")
    try meet(a, b)
    #expect(try a.children == ["1", "2", "3"])
    try expectEqual(a, b, "child", "parent")
  }

  @Test(arguments: [true, false])
  func `a child that is quarantined is shown when a migration makes its parent`(_ isChecked: Bool)
    throws
  {
    let configuration = isChecked ? Configuration() : .unchecked
    let devices = try (1...2).map { id in
      try Device(
        DatabaseQueue(configuration: configuration), new, id: UInt64(id),
        migrator: .steps([parent, creation]))
    }
    try devices[0].execute("INSERT INTO parent VALUES ('p', 'P')")
    try meet(devices[0], devices[1])
    try devices[0].execute("DELETE FROM parent")
    try devices[1].execute("INSERT INTO child VALUES ('1', 'p', 'n')")
    try meet(devices[0], devices[1])
    for device in devices {
      #expect(try device.children == [])
      #expect(try device.listed == ["1"])
    }
    let again = "INSERT INTO parent VALUES ('p', 'again')"
    let (a, b) = (
      try devices[0].upgraded(new, parent, creation, again),
      try devices[1].upgraded(new, parent, creation, again)
    )
    for device in [a, b] {
      #expect(try device.children == ["1"])
      #expect(try device.store.counts().quarantined == 0)
      #expect(try device.listed == [])
    }
    #expect(try a.exactly("child") == b.exactly("child"))
  }

  @Test func `a child is quarantined when a migration takes its parent, and is back with it`()
    throws
  {
    let devices = try devices(2, new, parent, creation)
    try devices[0].execute(
      "INSERT INTO parent VALUES ('p', 'P'); INSERT INTO child VALUES ('1', 'p', 'n')")
    try meet(devices[0], devices[1])
    let (a, b) = (
      try devices[0].upgraded(new, parent, creation, "DELETE FROM parent"),
      try devices[1].upgraded(new, parent, creation, "DELETE FROM parent")
    )
    for device in [a, b] {
      #expect(try device.children == [])
      #expect(try device.listed == ["1"])
    }
    try a.execute("INSERT INTO parent VALUES ('p', 'again')")
    try meet(a, b)
    for device in [a, b] { #expect(try device.children == ["1"]) }
    try expectEqual(a, b, "child", "parent")
  }

  @Test func `rows that the state knows nothing of stand as the migration left them`() throws {
    let devices = try devices(2, old, creation)
    let seed = "INSERT INTO child VALUES ('1', 'p', 'n')"
    let (a, b) = (
      try devices[0].upgraded(new, creation, seed, parent),
      try devices[1].upgraded(new, creation, seed, parent)
    )
    #expect(try a.children == ["1"])
    try meet(a, b)
    #expect(try a.children == ["1"] && b.children == ["1"])
    // Of a table that joins they are adopted, and then what every other row is.
    let none = SyncSchema(version: 3, tables: [])
    let joining = try devices[0].upgraded(none, creation, seed, parent)
    let joined = try joining.upgraded(new, creation, seed, parent, "CREATE TABLE other (id)")
    #expect(try joined.children == [])
    #expect(try joined.listed == ["1"])
  }
}
