import GRDB
import Rehearsals
import Tern
import TernTesting
import TestDevice
import Testing

@Suite("Snapshot: cutting and loading")
struct SnapshotTests {
  @Test(arguments: [DeleteRule.deleteWins, .updateWins, .lastWriter])
  func `INV-01: a replica that loads a snapshot is as one that merged every operation`(
    _ deletes: DeleteRule
  ) throws {
    for seed in Rehearsal.seeds(0...11, short: 2) {
      var generator = SeededGenerator(seed: seed)
      let devices = try (1...3).map { try Shelf.device($0, deletes) }
      for _ in 0..<40 {
        let device = devices.randomElement(using: &generator)!
        if Int.random(in: 0..<4, using: &generator) == 0 {
          try device.pull(from: devices.randomElement(using: &generator)!)
        } else {
          try Shelf.write(device, using: &generator)
        }
      }
      let fresh = try Shelf.device(9, deletes)
      let parts = try Parts(of: devices[0])
      try fresh.load(parts)
      try expectEqual(fresh, devices[0], "shelf", "book", "note")
      #expect(try fresh.store.versionVector() == devices[0].store.versionVector())
      // And from there on.
      try Shelf.write(fresh, using: &generator)
      // It cannot pass on what it never had; the others do.
      let all = devices + [fresh]
      for one in all { for other in all { try one.pull(from: other) } }
      for other in devices { try expectEqual(fresh, other, "shelf", "book", "note") }
    }
  }

  @Test(arguments: [DeleteRule.deleteWins, .updateWins, .lastWriter])
  func `INV-02: what a replica wrote and the snapshot lacks is merged again on top`(
    _ deletes: DeleteRule
  ) throws {
    for seed in 100..<112 as Range<UInt64> {
      var generator = SeededGenerator(seed: seed)
      let devices = try (1...3).map { try Shelf.device($0, deletes) }
      func write(_ count: Int) throws {
        for _ in 0..<count {
          try Shelf.write(devices.randomElement(using: &generator)!, using: &generator)
        }
      }
      try write(15)
      for other in devices { try devices[0].pull(from: other) }
      for other in devices { try other.pull(from: devices[0]) }
      try write(15)
      try devices[0].pull(from: devices[2])
      let parts = try Parts(of: devices[0])
      try write(5)
      try devices[1].load(parts)
      let reference = try Shelf.device(9, deletes)
      try reference.pull(from: devices[2])
      try reference.pull(from: devices[0])
      try reference.pull(from: devices[1])
      try devices[1].pull(from: reference)
      try expectEqual(devices[1], reference, "shelf", "book", "note")
    }
  }

  @Test func `a cut is the same bytes as long as nothing changes, and says what it holds`() throws {
    let a = try Shelf.device(1)
    try a.execute("INSERT INTO shelf VALUES ('1', 'a'), ('2', 'b'); DELETE FROM shelf WHERE id = 2")
    let parts = try Parts(of: a)
    #expect(try Parts(of: a).parts == parts.parts)
    let summary = try #require(parts.summary)
    #expect(summary.rows == 1 && summary.parts == parts.parts.count)
    #expect(summary.versionVector == VersionVector([ReplicaID(high: 0, low: 1): 1]))
  }

  @Test func `rows that are equal already are not written again, and local columns stay`() throws {
    let (a, b) = (try Shelf.device(1), try Shelf.device(2))
    try a.execute("INSERT INTO book (id, title) VALUES ('1', 'x'), ('2', 'y'), ('3', 'z')")
    try meet(a, b)
    try b.execute("UPDATE book SET photo = 'p' || id; CREATE TABLE seen (id);")
    try b.execute(
      "CREATE TRIGGER watch AFTER UPDATE ON book BEGIN INSERT INTO seen VALUES (NEW.id); END")
    try a.execute("UPDATE book SET title = 'new' WHERE id = '2'; DELETE FROM book WHERE id = '3'")
    try b.load(Parts(of: a))
    #expect(try b.column("SELECT id || title || photo FROM book") == ["1xp1", "2newp2"])
    #expect(try b.column("SELECT id FROM seen") == ["2"])
    try expectEqual(a, b)
  }

  @Test func `local columns stay of rows that the snapshot lacks and the log brings again`() throws
  {
    let (a, b) = (try Shelf.device(1), try Shelf.device(2))
    try a.execute("INSERT INTO book (id, title) VALUES ('1', 'x')")
    let old = try Parts(of: a)
    try meet(a, b)
    try a.execute("INSERT INTO book (id, title) VALUES ('2', 'y'), ('3', 'z')")
    try meet(a, b)
    try b.execute(
      "INSERT INTO book (id) VALUES ('own'); UPDATE book SET photo = 'p' || id")
    try a.execute("DELETE FROM book WHERE id = '3'")
    try meet(a, b)
    try b.load(old)
    #expect(try b.column("SELECT id || photo FROM book ORDER BY id") == ["1p1", "2p2", "ownpown"])
    try expectEqual(a, b)
  }

  @Test func `rows that the log brings again stay shown where a column has no default`() throws {
    let creation = """
      CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY, name TEXT NOT NULL, photo TEXT);
      CREATE TABLE seen (id);
      """
    let schema = SyncSchema(version: 1, tables: [SyncTable("t", local: ["photo"])])
    let (a, b) = try Device.pair(schema, creation)
    let old = try Parts(of: a)
    try b.execute("INSERT INTO t VALUES ('1', 'x', 'p'), ('2', 'y', NULL)")
    try b.execute(
      "CREATE TRIGGER watch AFTER UPDATE ON t BEGIN INSERT INTO seen VALUES (NEW.id); END")
    try b.load(old)
    #expect(try b.column("SELECT id || name || ifnull(photo, '-') FROM t") == ["1xp", "2y-"])
    #expect(try b.column("SELECT id FROM seen") == [])
    #expect(try b.store.counts().quarantined == 0)
    try meet(a, b)
    #expect(try a.column("SELECT name FROM t") == ["x", "y"])
  }

  @Test(arguments: [DeleteRule.deleteWins, .updateWins, .lastWriter])
  func `local columns stay of rows that the log deletes and brings again`(_ deletes: DeleteRule)
    throws
  {
    let (a, b) = (try Shelf.device(1, deletes), try Shelf.device(2, deletes))
    try a.commit("INSERT INTO book (id, title) VALUES ('1', 'x'), ('2', 'y'), ('3', 'z')")
    try meet(a, b)
    let old = try Parts(of: a)
    try b.commit("UPDATE book SET photo = 'old'; DELETE FROM book WHERE id <> '1'")
    try b.commit("INSERT INTO book (id, title, photo) VALUES ('2', 'v', 'p'), ('3', 'w', NULL)")
    // And once more.
    try b.commit("DELETE FROM book WHERE id = '2'")
    try b.commit("INSERT INTO book (id, title, photo) VALUES ('2', 'u', 'q')")
    try b.load(old)
    let rows = ["1xold", "2uq", "3w-"]
    let shown = "SELECT id || title || ifnull(photo, '-') FROM book ORDER BY id"
    #expect(try b.column(shown) == rows)
    try meet(a, b)
    #expect(try a.column(shown) == ["1x-", "2u-", "3w-"])
    // A row that ends and begins on another device begins at the default, as ever.
    try a.commit("DELETE FROM book WHERE id = '2'")
    try a.commit("INSERT INTO book (id, title) VALUES ('2', 't')")
    try meet(a, b)
    #expect(try b.column(shown) == ["1xold", "2t-", "3w-"])
    try b.load(old)
    #expect(try b.column(shown) == ["1xold", "2t-", "3w-"])
    #expect(try a.store.canonicalState() == b.store.canonicalState())
  }

  @Test func `the app's index over a local column goes with rows that the log brings again`() throws
  {
    let creation = """
      CREATE TABLE n (id TEXT NOT NULL PRIMARY KEY, title TEXT, body TEXT);
      CREATE VIRTUAL TABLE search USING fts5(title, body, content='n', content_rowid='rowid');
      CREATE TRIGGER ai AFTER INSERT ON n BEGIN
        INSERT INTO search (rowid, title, body) VALUES (NEW.rowid, NEW.title, NEW.body);
      END;
      CREATE TRIGGER ad AFTER DELETE ON n BEGIN
        INSERT INTO search (search, rowid, title, body)
          VALUES ('delete', OLD.rowid, OLD.title, OLD.body);
      END;
      CREATE TRIGGER au AFTER UPDATE ON n BEGIN
        INSERT INTO search (search, rowid, title, body)
          VALUES ('delete', OLD.rowid, OLD.title, OLD.body);
        INSERT INTO search (rowid, title, body) VALUES (NEW.rowid, NEW.title, NEW.body);
      END;
      """
    for deletes in [DeleteRule.deleteWins, .updateWins, .lastWriter] {
      let schema = SyncSchema(
        version: 1, tables: [SyncTable("n", deletes: deletes, local: ["body"])])
      let (a, b) = try Device.pair(schema, creation)
      let old = try Parts(of: a)
      try b.commit("INSERT INTO n VALUES ('1', 'x', 'one'), ('2', 'y', 'two'), ('3', 'z', 'three')")
      try b.commit("UPDATE n SET title = 'w' WHERE id = '2'; DELETE FROM n WHERE id = '3'")
      try b.commit("INSERT INTO n VALUES ('3', 'z', 'four')")
      try b.load(old)
      // And with a row that the snapshot has, and the log deletes before.
      let newer = try Parts(of: b)
      try b.commit("DELETE FROM n WHERE id = '3'")
      try b.commit("INSERT INTO n VALUES ('3', 'z', 'four')")
      try b.load(newer)
      func check(_ rows: [String]) throws {
        #expect(try b.column("SELECT id || title || body FROM n ORDER BY id") == rows)
        try b.execute("INSERT INTO search (search, rank) VALUES ('integrity-check', 1)")
        let found = "SELECT n.id FROM search JOIN n ON n.rowid = search.rowid WHERE search MATCH"
        #expect(try b.column("\(found) 'one OR two OR four' ORDER BY 1") == ["1", "2", "3"])
      }
      try check(["1xone", "2wtwo", "3zfour"])
      try b.commit("UPDATE n SET title = 'v' WHERE id = '1'")
      try a.pull(from: b)
      try a.commit("UPDATE n SET title = 'u' WHERE id = '3'")
      try b.pull(from: a)
      try check(["1vone", "2wtwo", "3ufour"])
      try b.commit("DELETE FROM n WHERE id = '2'")
      try b.execute("INSERT INTO search (search, rank) VALUES ('integrity-check', 1)")
      try meet(a, b)
      // Its local column is each device's own.
      #expect(try a.column("SELECT title FROM n") == b.column("SELECT title FROM n"))
      try expectEqual(a, b)
    }
  }

  @Test func `a trigger sees a row that the log brings again with its local columns`() throws {
    let schema = SyncSchema(
      version: 1, tables: [SyncTable("t", local: ["photo"]), SyncTable("log")])
    let (a, b) = try Device.pair(
      schema,
      """
      CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY, name TEXT NOT NULL, photo TEXT DEFAULT 'none');
      CREATE TABLE log (id TEXT NOT NULL PRIMARY KEY);
      CREATE TABLE seen (what);
      CREATE TRIGGER came AFTER INSERT ON t BEGIN INSERT INTO seen VALUES (NEW.photo); END;
      CREATE TRIGGER changed AFTER UPDATE OF photo ON t BEGIN
        INSERT INTO log VALUES (NEW.photo);
      END;
      """)
    let old = try Parts(of: a)
    try b.commit("INSERT INTO t VALUES ('1', 'x', 'p'); INSERT INTO t (id, name) VALUES ('2', 'y')")
    try b.execute("DELETE FROM seen")
    try b.load(old)
    #expect(try b.column("SELECT what FROM seen ORDER BY 1") == ["none", "p"])
    #expect(try b.column("SELECT id || photo FROM t ORDER BY id") == ["1p", "2none"])
    try meet(a, b)
    #expect(try b.column("SELECT id FROM log") == [])
    try expectEqual(a, b, "log")
  }

  @Test func `local columns stay of quarantined rows that the log brings again`() throws {
    let (a, b) = (try Shelf.device(1), try Shelf.device(2))
    try a.execute("INSERT INTO shelf VALUES ('s', '')")
    let old = try Parts(of: a)
    try meet(a, b)
    try b.execute("INSERT INTO book (id, shelf, photo) VALUES ('1', 's', 'p'), ('2', 's', NULL)")
    try a.commit("DELETE FROM shelf")
    try meet(a, b)
    #expect(try b.store.counts().quarantined == 2)
    try b.load(old)
    #expect(try b.store.counts().quarantined == 2)
    try a.commit("INSERT INTO shelf VALUES ('s', 'again')")
    try meet(a, b)
    #expect(try b.column("SELECT id || ifnull(photo, '-') FROM book ORDER BY id") == ["1p", "2-"])
    try expectEqual(a, b, "shelf")
  }

  @Test func `what somebody wrote past the triggers is mended by a repair alone`() throws {
    let (a, b) = (try Shelf.device(1), try Shelf.device(2))
    try a.execute(
      """
      INSERT INTO book (id, title, tags) VALUES ('1', 'x', '["t"]'), ('2', 'y', '[]'), ('3', 'z', '[]')
      """)
    try meet(a, b)
    try a.execute("DELETE FROM book WHERE id = '3'")
    try meet(a, b)
    let triggers = try b.database.read {
      try Row.fetchAll(
        $0, sql: "SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'book'")
    }
    for trigger in triggers { try b.execute("DROP TRIGGER \"\(trigger[0] as String)\"") }
    try b.execute(
      """
      UPDATE book SET title = 'damaged', tags = '[]', photo = 'p';
      DELETE FROM book WHERE id = '2'; INSERT INTO book (id) VALUES ('3')
      """)
    for trigger in triggers { try b.execute(trigger[1]) }
    let damaged = try b.column("SELECT id || title || tags FROM book ORDER BY id")
    // As a migration does, which is the app's own business.
    try b.load(Parts(of: a))
    #expect(try b.column("SELECT id || title || tags FROM book ORDER BY id") == damaged)
    let parts = try Parts(of: a)
    _ = try b.store.loadSnapshot(from: nil, isRepairing: true) { parts.part($0) }
    #expect(
      try b.column("SELECT id || title || tags FROM book ORDER BY id") == [#"1x["t"]"#, "2y[]"])
    #expect(try b.column("SELECT photo FROM book WHERE id = '1'") == ["p"])
    try expectEqual(a, b)
  }

  @Test func `a column that is at its default again shows that`() throws {
    let (a, b) = (try Shelf.device(1), try Shelf.device(2))
    try a.execute("INSERT INTO book (id, title, best) VALUES ('1', 'x', 2)")
    try meet(a, b)
    try b.execute("UPDATE book SET photo = 'p'")
    try a.execute("DELETE FROM book")
    try a.store.seal()
    try a.execute("INSERT INTO book (id) VALUES ('1')")
    try b.load(Parts(of: a))
    try expectEqual(a, b)
    #expect(try b.column("SELECT title || ifnull(best, '-') || photo FROM book") == ["none-p"])
  }

  @Test func `a child that loses its parent is quarantined, and comes back with it`() throws {
    let (a, b) = (try Shelf.device(1), try Shelf.device(2))
    try a.execute("INSERT INTO shelf VALUES ('s', '')")
    try meet(a, b)
    try b.execute("INSERT INTO book (id, shelf) VALUES ('1', 's')")
    try a.execute("DELETE FROM shelf")
    try b.load(Parts(of: a))
    #expect(try b.column("SELECT id FROM book") == [])
    #expect(try b.store.counts().quarantined == 1)
    try a.pull(from: b)
    try expectEqual(a, b, "shelf", "book")
    let c = try Shelf.device(3)
    try c.load(Parts(of: a))
    try expectEqual(c, a, "shelf", "book")
    try c.execute("INSERT INTO shelf VALUES ('s', 'again')")
    try c.store.seal()
    #expect(try c.column("SELECT id FROM book") == ["1"])
  }
}
