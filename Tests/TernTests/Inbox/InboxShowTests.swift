import Foundation
import GRDB
import Tern
import TestDevice
import TestProcesses
import Testing

@Suite("Inbox: showing rows that are kept out")
struct InboxShowTests {
  @Test func `a renamed row is shown with its children, and only the name is a write`() async throws
  {
    let (a, b) = try Household.displaced()
    let before = try a.store.canonicalState()
    try a.show(
      try #require(try a.entry(.displaced)), with: [Column("NAME"): "Meals 2"])
    #expect(try a.inbox.isEmpty)
    try meetTwice(a, b)
    for device in [a, b] {
      #expect(
        try device.column("SELECT id || name FROM tag ORDER BY id") == ["1meals", "2Meals 2"])
      #expect(
        try device.column("SELECT title || cooked || sets || body FROM recipe") == [
          #"Soup3["hot"]Boil"#
        ])
      #expect(try device.column("SELECT text FROM step") == ["wait"])
      #expect(try device.inbox.isEmpty && device.store.counts().quarantined == 0)
    }
    #expect(try b.column("SELECT seen FROM tag WHERE id = '2'") == ["b"])
    try expectEqual(a, b, "recipe", "step")
    let (old, new) = (
      before.first { $0.key == ["2"] }, try a.store.canonicalState().first { $0.key == ["2"] }
    )
    #expect(new?.cells["note"] == old?.cells["note"] && new?.cells["name"] != old?.cells["name"])
    #expect(new?.time == old?.time)
  }

  @Test
  func
    `values that collide too, that are missing, or that the table refuses are said, and nothing is written`()
    async throws
  {
    let (a, _) = try Household.displaced()
    try a.commit("INSERT INTO tag (id, name) VALUES ('3', 'dinner')")
    let (tag, recipe) = (
      try #require(try a.entry(.displaced)), try #require(try a.entry(.parentMissing))
    )
    let before = (try a.store.canonicalState(), try a.inbox)
    func refused(_ code: InboxError.Code, _ text: String, _ call: () throws -> Void) {
      let error = #expect(throws: InboxError.self) { try call() }
      #expect(
        error?.code == code && error?.message.contains(text) == true, "\(error?.message ?? "")")
    }
    refused(.refused, "taken by ['3']") {
      try a.show(tag, with: [Column("name"): "DINNER"])
    }
    refused(.refused, "taken by ['1']") { try a.show(tag) }
    refused(.refused, "no column “colour”") {
      try a.show(tag, with: [Column("colour"): "red"])
    }
    refused(.refused, "no column “id”") {
      try a.show(tag, with: [Column("id"): "9"])
    }
    refused(.parentDeleted, "tag with id = '2'") { try a.show(recipe) }
    refused(.parentDeleted, "tag with id = 'none'") {
      try a.show(recipe, with: [Column("tag"): "none"])
    }
    refused(.refused, "the counter cooked must hold a 64-bit whole number") {
      try a.show(recipe, with: [Column("tag"): nil, Column("cooked"): "often"])
    }
    await #expect(throws: InboxError.self) { try await a.replica.restore(tag) }
    try a.store.seal()
    #expect(try a.store.canonicalState() == before.0 && a.inbox == before.1)
    #expect(try a.column("SELECT count(*) FROM grdb_tern_main_note_1") == ["0"])
  }

  @Test func `an orphan is shown with another parent, or with none`() async throws {
    let (a, b) = (try Household.device(1), try Household.device(2))
    try a.commit("INSERT INTO tag (id, name) VALUES ('1', 'meals'), ('2', 'other')")
    try meetTwice(a, b)
    try a.commit("DELETE FROM tag WHERE id = '1'")
    try b.commit("INSERT INTO recipe (id, tag, cooked) VALUES ('q', '1', 2), ('r', '1', 4)")
    try meetTwice(a, b)
    #expect(try a.listedEntries == ["orphaned recipe ['q']", "orphaned recipe ['r']"])
    #expect(try a.inbox[0].winner?.author == ReplicaID(high: 0, low: 1))
    try b.show(try b.inbox[0], with: [Column("tag"): "2"])
    try a.show(try a.inbox[1], with: [Column("tag"): nil, Column("cooked"): 5])
    try meetTwice(a, b)
    for device in [a, b] {
      #expect(
        try device.column("SELECT id || ifnull(tag, 'none') || cooked FROM recipe ORDER BY id")
          == ["q22", "rnone5"])
      #expect(try device.inbox.isEmpty)
    }
    try expectEqual(a, b, "tag", "recipe")
  }

  @Test func `what a table refuses is shown with values that it takes`() async throws {
    let schema = SyncSchema(version: 1, tables: [SyncTable("t")])
    let creation = "CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY, x CHECK (x < 9), y)"
    let a = try Device(schema, id: 1) {
      try $0.execute(sql: creation.replacing("CHECK (x < 9)", with: ""))
    }
    let b = try Device(schema, id: 2) { try $0.execute(sql: creation) }
    try a.commit("INSERT INTO t VALUES ('1', 10, 'y')")
    try b.pull(from: a)
    let entry = try #require(try b.entry(.refused))
    let error = #expect(throws: InboxError.self) {
      try b.show(entry, with: [Column("x"): 11])
    }
    #expect(error?.message.contains("CHECK constraint failed: x < 9") == true)
    try b.show(entry, with: [Column("x"): 8])
    try meetTwice(a, b)
    for device in [a, b] { #expect(try device.column("SELECT x || y FROM t") == ["8y"]) }
    try expectEqual(a, b, "t")
  }

  @Test func `in a transaction of the app's it is kept or undone with that, and the app may go on`()
    throws
  {
    let (a, b) = try Household.displaced()
    let entry = try #require(try a.entry(.displaced))
    struct Stop: Error {}
    #expect(throws: Stop.self) {
      try a.database.write { db in
        try a.replica.show(entry, with: [Column("name"): "Meals 2"], in: db)
        throw Stop()
      }
    }
    #expect(try a.entry(.displaced) == entry)
    try a.database.write { db in
      try db.execute(sql: "UPDATE tag SET note = 'kept' WHERE id = '1'")
      #expect(throws: InboxError.self) {
        try a.replica.show(entry, with: [Column("name"): "meals"], in: db)
      }
      // The winner's new name makes room: the row keeps its own.
      try db.execute(sql: "UPDATE tag SET name = 'Meals 1' WHERE id = '1'")
      try a.replica.show(entry, in: db)
      try db.execute(sql: "UPDATE tag SET note = 'both' WHERE id = '2'")
      // The second call finds no entry.
      #expect(throws: InboxError.self) { try a.replica.show(entry, in: db) }
    }
    try meetTwice(a, b)
    for device in [a, b] {
      #expect(
        try device.column("SELECT name || note FROM tag ORDER BY id") == [
          "Meals 1kept", "Mealsboth",
        ])
      #expect(try device.inbox.isEmpty)
    }
    try expectEqual(a, b, "recipe", "step")
  }

  @Test func `two devices that rename at once show one row, and the loser's name is listed`()
    async throws
  {
    let (a, b) = try Household.displaced()
    try a.show(try #require(try a.entry(.displaced)), with: [Column("name"): "A"])
    try delay(b, after: a)
    try b.show(try #require(try b.entry(.displaced)), with: [Column("name"): "B"])
    try meetTwice(a, b)
    for device in [a, b] {
      #expect(try device.column("SELECT name FROM tag ORDER BY id") == ["meals", "B"])
      #expect(try device.inbox.map(\.values) == [["name": "A"]])
    }
    try expectEqual(a, b, "recipe", "step")
  }

  /// Of two devices, one renames and the other renames the winner to the same.
  @Test func `a name that somebody takes meanwhile displaces the row again`() async throws {
    let (a, b) = try Household.displaced()
    try a.show(try #require(try a.entry(.displaced)), with: [Column("name"): "New"])
    try b.commit("UPDATE tag SET name = 'New' WHERE id = '1'")
    try meetTwice(a, b)
    for device in [a, b] {
      #expect(try device.column("SELECT id FROM tag") == ["1"])
      #expect(try device.entry(.displaced)?.values["name"] == "New")
    }
    try expectEqual(a, b, "recipe", "step")
  }

  @Test func `undo takes a rename back, and the row is kept out again`() async throws {
    let (a, b) = try Household.displaced()
    try a.show(try #require(try a.entry(.displaced)), with: [Column("name"): "New"])
    let undone = try await a.replica.undo()
    #expect(undone != nil)
    try meetTwice(a, b)
    try expectEqual(a, b, "recipe", "step")
    #expect(try a.replica.rowsOutOfSight() == [])
  }

  @Test(arguments: [true, false])
  func `another process and a migration in between leave the entry as it is`(_ isPool: Bool)
    throws
  {
    try withTemporaryFolder { folder in
      let path = "\(folder)/app.sqlite"
      let database: any DatabaseWriter =
        try isPool ? DatabasePool(path: path) : DatabaseQueue(path: path)
      let (first, b) = try Household.displaced(database: database)
      let entry = try #require(try first.entry(.displaced))
      let a = try Device(
        database, Household.schema(version: 2), id: 99,
        migrator: .steps(["ALTER TABLE tag ADD COLUMN colour TEXT DEFAULT 'red'"]))
      let upgraded = try #require(try a.entry(.displaced))
      #expect(upgraded.id == entry.id && upgraded.values["colour"] == "red")
      // The other process takes the name that was free.
      try OtherWriter.process.write("INSERT INTO tag (id, name) VALUES ('3', 'New')", to: path)
      func show(_ values: KeyValuePairs<any ColumnExpression, (any DatabaseValueConvertible)?>)
        throws
      {
        try a.database.write { try a.replica.show(entry, with: values, in: $0) }
      }
      let error = #expect(throws: InboxError.self) { try show([Column("name"): "new"]) }
      #expect(error?.message.contains("taken by ['3']") == true)
      try OtherWriter.process.write("DELETE FROM tag WHERE id = '3'", to: path)
      try show([Column("name"): "new", Column("colour"): "blue"])
      #expect(
        try a.column("SELECT name || colour FROM tag ORDER BY id") == ["mealsred", "newblue"])
      try b.pull(from: a)
      #expect(try b.column("SELECT name FROM tag ORDER BY id") == ["meals", "new"])
      try expectHealthy(a)
    }
  }

  @Test func `a call that is cancelled before it begins writes nothing, or all`() async throws {
    let (a, b) = try Household.displaced()
    let entry = try #require(try a.entry(.displaced))
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      try await a.replica.write { db in
        try a.replica.show(entry, with: [Column("name"): "New"], in: db)
      }
    }
    let isShown = (try? await task.value) != nil
    #expect(try a.column("SELECT count(*) FROM tag") == [isShown ? "2" : "1"])
    try meetTwice(a, b)
    try expectEqual(a, b, "recipe", "step")
  }
}
