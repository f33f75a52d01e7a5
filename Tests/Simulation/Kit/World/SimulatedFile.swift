#if Server && Rehearsal
import GRDB
import Tern
import TernTesting

/// A device's database file, and what its user knows to be in it.
struct SimulatedFile {
  let database: DatabaseQueue
  /// Of the app's schema.
  var version = 1
  var intents = Intents()
  /// Of the inbox, when it was last looked at.
  var inboxEntries: Int64 = 0
  /// Ids that its replica had, and the last operation of each that is its own.
  var formerIDs: [ReplicaID: UInt64] = [:]

  /// The tables of the app's first release.
  init(_ wall: SimulatedWall) throws {
    database = try Self.queue(wall)
    try database.write { db in
      try db.execute(
        sql: """
          CREATE TABLE item (
            id TEXT NOT NULL PRIMARY KEY, a TEXT, b TEXT, n INTEGER NOT NULL DEFAULT 0,
            hi INTEGER, lo INTEGER, tags TEXT NOT NULL DEFAULT '[]', u INTEGER UNIQUE, pos TEXT,
            body TEXT NOT NULL DEFAULT '');
          CREATE TABLE pair (id TEXT NOT NULL PRIMARY KEY, x TEXT);
          CREATE TABLE mark (transactions INTEGER NOT NULL);
          INSERT INTO mark VALUES (0)
          """)
    }
  }

  private init(_ database: DatabaseQueue, like other: SimulatedFile) {
    (self.database, version) = (database, other.version)
    (intents, formerIDs) = (other.intents, other.formerIDs)
    inboxEntries = other.inboxEntries
  }

  /// All that is committed, in a file of its own.
  func copied(to wall: SimulatedWall) throws -> SimulatedFile {
    let copy = try Self.queue(wall)
    try database.backup(to: copy)
    return SimulatedFile(copy, like: self)
  }

  private static func queue(_ wall: SimulatedWall) throws -> DatabaseQueue {
    var configuration = Configuration()
    configuration.prepareDatabase { db in
      db.add(
        function: DatabaseFunction("julianday", argumentCount: 0) { _ in
          2440587.5 + (Double(wall.milliseconds) + 0.5) / 86_400_000
        })
    }
    return try DatabaseQueue(configuration: configuration)
  }

  /// Every row of every synced table, by the table's name in the first release.
  func tables() throws -> [String: [Row]] {
    let names = ["item", Self.pair(in: version)]
    return try database.unsafeRead { db in
      try (version == 1 ? names : names + ["tally"]).reduce(into: [:]) {
        $0[Self.firstName(of: $1)] = try Row.fetchAll(db, sql: "SELECT * FROM \($1) ORDER BY 1")
      }
    }
  }

  /// One of the same version in which nothing was ever written, and its replica.
  func blank(_ script: SimulationScript, _ wall: SimulatedWall) throws
    -> (file: SimulatedFile, replica: Replica)
  {
    var (file, generator) = (try SimulatedFile(wall), SeededGenerator(seed: 1))
    let replica = try file.open(version, script, &generator)
    return (file, replica)
  }

  // MARK: - The app's releases

  static let newestVersion = 2

  /// Opens the file as a release of the app does, which brings it to its own version.
  mutating func open(
    _ release: Int, _ script: SimulationScript, _ generator: inout SeededGenerator
  ) throws -> Replica {
    let id = ReplicaID(using: &generator)
    let tails = SharedGenerator(SeededGenerator(seed: generator.next()))
    let keepsLog = !script.conditions.contains(.trims)
    let replica = try Replica.openBlocking(
      database, schema: Self.schema(release, script),
      migrator: version < release ? Self.migrator : nil,
      logRetention: keepsLog ? Replica.defaultLogRetention : .seconds(-200_000),
      inbox: Self.inboxLimits(script), random: { tails.next() }, makeID: { id })
    version = max(version, release)
    return replica
  }

  static func inboxLimits(_ script: SimulationScript) -> InboxLimits {
    script.conditions.contains(.smallInbox) ? InboxLimits(entries: 3) : InboxLimits()
  }

  private static var migrator: DatabaseMigrator {
    var migrator = DatabaseMigrator()
    migrator.registerMigration("2") { db in
      try db.execute(
        sql: """
          ALTER TABLE item ADD COLUMN c TEXT;
          ALTER TABLE pair RENAME TO couple;
          ALTER TABLE couple RENAME COLUMN id TO at;
          CREATE TABLE tally (id TEXT NOT NULL PRIMARY KEY, m INTEGER NOT NULL DEFAULT 0)
          """)
    }
    return migrator
  }

  private static func schema(_ version: Int, _ script: SimulationScript) -> SyncSchema {
    let tables = [
      SyncTable(
        "item",
        merge: [
          "n": .counter, "hi": .max, "lo": .min, "tags": .set, "pos": .order, "body": .text,
        ],
        deletes: script.deletes),
      version == 1
        ? SyncTable("pair")
        : SyncTable("couple", formerColumnNames: ["at": "id"], formerNames: ["pair"]),
      SyncTable("tally", merge: ["m": .counter]),
    ]
    return SyncSchema(version: UInt32(version), tables: version == 1 ? Array(tables[..<2]) : tables)
  }

  /// The name of the pair's table in a release.
  static func pair(in version: Int) -> String { version == 1 ? "pair" : "couple" }

  /// A table's name in the first release, by which the model knows its rows.
  static func firstName(of table: String) -> String { table == "couple" ? "pair" : table }

  /// The first release that has a table by this name.
  static func firstVersion(ofTable name: String) -> Int {
    ["couple", "tally"].contains(name) ? 2 : 1
  }

  /// The first release that has a column of a table.
  static func firstVersion(ofColumn column: String, in table: String) -> Int {
    (table, column) == ("item", "c") ? 2 : firstVersion(ofTable: table)
  }
}
#endif
