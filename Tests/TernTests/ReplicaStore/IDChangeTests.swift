import GRDB
import Rehearsals
import Tern
import TernDatabase
import TernTesting
import TestDevice
import Testing

/// The store's part in taking a new id; `IDChangeTests` of the engine have a server too.
@Suite("ReplicaStore: a copied file that takes a new id")
struct IDChangeTests {
  private func copy(_ device: Device, _ schema: SyncSchema) throws -> Device {
    let database = try DatabaseQueue()
    try device.database.backup(to: database)
    return try Device(schema, id: 8, database: database)
  }

  /// One whose log keeps nothing for its age, with an id that has room behind it.
  private func device(_ number: UInt64, _ schema: SyncSchema, _ creation: String) throws -> Device {
    try Device(schema, id: number << 40, logRetention: .seconds(-60)) {
      try $0.execute(sql: creation)
    }
  }

  /// - Parameter isTrimmed: whether the copy's log lacks its beginning, so that states are renamed.
  @Test(
    arguments: [DeleteRule.deleteWins, .updateWins, .lastWriter], [false, true])
  func `INV-01, INV-02: what a copy wrote is there under its new id, as everybody merges it`(
    _ deletes: DeleteRule, _ isTrimmed: Bool
  ) throws {
    for seed in Rehearsal.seeds(0...11, short: 2) {
      var generator = SeededGenerator(seed: seed)
      let schema = Shelf.schema(deletes)
      let (a, b) = (
        try device(1, schema, Shelf.creation), try device(2, schema, Shelf.creation)
      )
      func write(_ devices: Device..., count: Int) throws {
        for _ in 0..<count {
          try Shelf.write(devices.randomElement(using: &generator)!, using: &generator)
        }
      }
      try write(a, b, count: 30)
      try meet(a, b)
      if isTrimmed {
        try a.trim()
        try write(a, b, count: 10)
        try meet(a, b)
      }
      try a.execute("UPDATE book SET photo = 'here'")
      try a.store.seal()
      let last = try a.store.versionVector()[a.replica.store.replicaID()]
      let copy = try copy(a, schema)
      try write(copy, count: seed % 4 == 0 ? 0 : 40)
      // A set is shown in its one form from then on.
      try copy.store.seal()
      let shown = try copy.content()
      // Both wrote under one id; the copy meets the other device first under its own.
      try write(a, b, count: 20)
      try b.pull(from: a)
      let change = try #require(try copy.changeID(after: last))
      #expect(change.former == ReplicaID(high: 0, low: 1 << 40) && change.last == last)
      #expect(try copy.store.replicaID() == change.current)
      #expect(try copy.content() == shown)
      try expectHealthy(copy)
      #expect(try copy.store.place(at: "r")?.cursor == nil)
      try meet(copy, b)
      try meet(a, b)
      try meet(copy, b)
      for device in [copy, b] { try expectEqual(a, device, "shelf", "note") }
      try write(copy, a, b, count: 20)
      for _ in 0..<2 {
        try meet(copy, b)
        try meet(a, b)
      }
      for device in [copy, b] { try expectEqual(a, device, "shelf", "note") }
    }
  }

  @Test(arguments: ["rowid TEXT AS (a || '!')", "rowid TEXT AS (a) STORED", "oid", "rowid"])
  func `a column may have a name of the rowid, which stays with its row`(_ column: String) throws {
    let schema = SyncSchema(version: 1, tables: [SyncTable("t", merge: ["n": .counter])])
    let a = try device(
      1, schema,
      "CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY, a, n INTEGER NOT NULL DEFAULT 0, \(column))")
    try a.commit("INSERT INTO t (id, a, n) VALUES ('1', 'x', 1), ('2', 'y', 2), ('3', 'z', 3)")
    try a.commit("DELETE FROM t WHERE id = '2'")
    let copy = try copy(a, schema)
    try copy.commit("UPDATE t SET a = 'copied'")
    let before = try copy.rows("SELECT _rowid_, * FROM t ORDER BY id")
    #expect(before.count == 2)
    #expect(try copy.changeID(after: 2) != nil)
    #expect(try copy.rows("SELECT _rowid_, * FROM t ORDER BY id") == before)
  }

  @Test func `the app's tables stay as they are, whatever wrote them, and no trigger fires`() throws
  {
    let schema = SyncSchema(
      version: 1,
      tables: [
        SyncTable("t", merge: ["n": .counter], deletes: .updateWins, local: ["mine"]),
        SyncTable("child"),
      ])
    let creation = """
      CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY, a, n INTEGER NOT NULL DEFAULT 0, mine);
      CREATE TABLE child (id TEXT NOT NULL PRIMARY KEY, t TEXT REFERENCES t);
      CREATE TABLE event (t, what);
      """
    let (a, b) = try Device.pair(schema, creation)
    try a.commit(
      "INSERT INTO t VALUES ('1', 'one', 1, 'm'), ('2', 'two', 2, 'm'), ('3', 'three', 3, 'm')")
    try a.commit("INSERT INTO child VALUES ('c', '3')")
    try meet(a, b)
    // Concurrent writes, for the inbox, and a child without a parent.
    try a.commit("UPDATE t SET a = 'a' WHERE id = '1'")
    try b.commit("UPDATE t SET a = 'b' WHERE id = '1'")
    try b.commit("DELETE FROM child; DELETE FROM t WHERE id = '3'")
    try meet(a, b)
    try a.commit("UPDATE t SET n = n + 1 WHERE id = '2'")
    try meet(a, b)
    let last = try a.store.versionVector()[ReplicaID(high: 0, low: 1)]
    let database = try DatabaseQueue()
    try a.database.backup(to: database)
    // What a migration writes is not captured.
    try database.write { db in
      try db.withoutTriggers {
        try db.execute(sql: "UPDATE t SET a = upper(a) || '!', mine = 'migrated'")
      }
    }
    let copy = try Device(schema, id: 8, database: database)
    try copy.commit(
      "UPDATE t SET n = n + 10 WHERE id = '2'; INSERT INTO t VALUES ('4', 'four', 4, 'm')")
    try copy.execute(
      "UPDATE t SET a = zeroblob(\(SyncOperation.Limit.rowBytes + 1)) WHERE id = '1'")
    try copy.store.seal()
    #expect(try copy.store.counts().largeRows.count == 1)
    try copy.execute(
      """
      CREATE TRIGGER gone AFTER DELETE ON t BEGIN INSERT INTO event VALUES (OLD.id, 'deleted'); END;
      CREATE TRIGGER new AFTER INSERT ON t BEGIN INSERT INTO event VALUES (NEW.id, 'inserted'); END;
      """)
    let queries =
      ["t", "child", "event"].map { "SELECT rowid, * FROM \($0)" } + [
        "SELECT quote(content) FROM grdb_tern_main_held", "SELECT * FROM grdb_tern_main_conflict",
        "SELECT tbl, key, kind, content, found_ms FROM grdb_tern_main_inbox",
      ]
    try copy.makeRareTables()
    let before = try queries.map(copy.rows)
    let findings = try copy.database.read { try DatabaseDiagnosis($0).findings.map(\.check) }
    #expect(try copy.changeID(after: last) != nil)
    for (query, rows) in zip(queries, before) { #expect(try copy.rows(query) == rows, "\(query)") }
    #expect(try copy.database.read { try DatabaseDiagnosis($0).findings.map(\.check) } == findings)
    for _ in 0..<2 { try meet(copy, b) }
    #expect(try b.column("SELECT n FROM t WHERE id = '2'") == ["13"])
    #expect(try b.store.versionVector() == copy.store.versionVector())
  }

  @Test(arguments: [false, true])
  func `an edit of a text, an undo and a refusal`(_ isTrimmed: Bool) throws {
    let schema = SyncSchema(version: 1, tables: [SyncTable("t", merge: ["body": .text])])
    let creation = "CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY, body TEXT NOT NULL DEFAULT '')"
    let (a, b) = (try device(1, schema, creation), try device(2, schema, creation))
    try a.commit("INSERT INTO t VALUES ('1', 'quick fox')")
    try a.commit("UPDATE t SET body = 'the quick fox'")
    try meet(a, b)
    if isTrimmed { try a.trim() }
    let copy = try copy(a, schema)
    try a.commit("UPDATE t SET body = 'the quick fox jumps'")
    // Of an element that only the copy has.
    for body in ["the quick red fox", "the quick rd fox", "the very quick rd fox"] {
      try copy.commit("UPDATE t SET body = '\(body)'")
    }
    #expect(try copy.changeID(after: 6) == nil)
    #expect(try copy.changeID(after: 2) != nil)
    #expect(try copy.column("SELECT body FROM t") == ["the very quick rd fox"])
    for _ in 0..<2 {
      try meet(copy, b)
      try meet(a, b)
    }
    for device in [a, b, copy] {
      #expect(try device.column("SELECT body FROM t") == ["the very quick rd fox jumps"])
    }
    try expectEqual(a, copy, "t")
    // Of a text that needs the whole log.
    if isTrimmed { return }
    #expect(try copy.store.undo()?.rows.map(\.columns) == [["body"]])
    #expect(try copy.column("SELECT body FROM t") == ["the quick rd fox jumps"])
    for _ in 0..<4 { _ = try copy.store.undo() }
    // What is the former id's cannot be taken back any more.
    #expect(try copy.column("SELECT body FROM t") == ["the quick fox jumps"])
    try meet(copy, b)
    try expectEqual(copy, b, "t")
  }

  @Test func `a log that was trimmed is not enough where others saw what another copy wrote`()
    throws
  {
    let schema = SyncSchema(version: 1, tables: [SyncTable("t")])
    let creation = "CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY, a)"
    let (a, b) = (try device(1, schema, creation), try device(2, schema, creation))
    for id in 1...3 { try a.commit("INSERT INTO t VALUES ('\(id)', 'a')") }
    try meet(a, b)
    try a.trim()
    let (first, second) = (try copy(a, schema), try copy(a, schema))
    try a.commit("UPDATE t SET a = 'other'")
    try b.pull(from: a)
    try b.commit("INSERT INTO t VALUES ('b', 'knows it')")
    for copy in [first, second] {
      // In pages that leave its own out, like every pull.
      try copy.merge(
        b.store.operations(
          lackedBy: VersionVector([ReplicaID(high: 0, low: 1 << 40): .max]), maximumBytes: .max))
    }
    // With nothing of its own nothing can be mistaken.
    #expect(try first.changeID(after: 3) != nil)
    try first.pull(from: b)
    try expectEqual(first, b, "t")
    try second.commit("INSERT INTO t VALUES ('mine', '')")
    let id = try second.store.replicaID()
    #expect(try second.changeID(after: 3) == nil)
    #expect(try second.store.replicaID() == id)
    // Where the remote lost all, what is written from now on is a new id's all the same.
    let place = RemotePlace(remoteID: "r", epoch: "another", cursor: nil)
    let change = try second.store.leaveID(id, for: place, heads: VersionVector(), isTold: false)
    #expect(change?.former == id && change?.last == 4)
    #expect(try second.store.place(at: "r") == place)
    #expect(try second.store.versionVector()[id] == 4)
    #expect(try second.store.leaveID(id, for: place, heads: VersionVector(), isTold: false) == nil)
    try second.commit("INSERT INTO t VALUES ('next', '')")
    #expect(try second.store.versionVector()[second.store.replicaID()] == 1)
  }
}

extension Device {
  fileprivate func trim() throws {
    let known = try store.versionVector()
    for remote in ["peer", "r"] { try store.trim(heldBy: known, at: remote) }
    #expect(try store.hasTrimmed(lackedBy: VersionVector()))
  }

  fileprivate func changeID(after last: UInt64) throws -> ReplicaIDChange? {
    try store.changeID(from: store.replicaID(), after: last, at: "r")
  }

  /// Of every table of ``Shelf``, with what stays on the device.
  fileprivate func content() throws -> [[[String]]] {
    try ["shelf", "book", "note"].map {
      try exactly($0).sorted { $0.lexicographicallyPrecedes($1) }
    }
  }
}
