import GRDB
import Tern
import TestDevice
import Testing

private let people = """
  CREATE TABLE person (id TEXT NOT NULL PRIMARY KEY, mail TEXT UNIQUE COLLATE NOCASE, name);
  """

private func devices(_ sql: String, _ tables: SyncTable...) throws -> (Device, Device) {
  let schema = SyncSchema(version: 1, tables: tables)
  return try Device.pair(schema, sql)
}

@Suite("Settlement: UNIQUE indexes beside the key")
struct GuestUniqueTests {
  @Test func `of two rows with one value the first is shown, and the other when that one goes`()
    throws
  {
    let (a, b) = try devices(people, SyncTable("person"))
    try a.execute("INSERT INTO person VALUES ('1', 'ada@x', 'A')")
    try delay(b, after: a)
    try b.execute("INSERT INTO person VALUES ('2', 'ADA@X', 'B')")
    try meetTwice(a, b)
    for device in [a, b] {
      #expect(try device.column("SELECT id FROM person") == ["1"])
      #expect(try device.store.counts().quarantined == 1)
    }
    try expectEqual(a, b, "person")
    try b.execute("UPDATE person SET mail = 'other' WHERE id = '1'")
    try b.store.seal()
    #expect(try b.column("SELECT name FROM person ORDER BY id") == ["A", "B"])
    try meetTwice(a, b)
    #expect(try a.column("SELECT name FROM person ORDER BY id") == ["A", "B"])
    try expectEqual(a, b, "person")
  }

  @Test func `explain names the row that is in the way`() async throws {
    let (a, b) = try devices(people, SyncTable("person"))
    try a.execute("INSERT INTO person VALUES ('1', 'ada@x', 'A')")
    try delay(b, after: a)
    try b.execute("INSERT INTO person VALUES ('2', 'Ada@x', 'B')")
    try b.pull(from: a)
    let row = try await b.replica.explain("person", key: ["2"])
    let rival = RowExplanation.Reference(table: "person", columns: ["id"], values: ["1"])
    #expect(row.standing == .quarantined(.displaced, [rival]))
    #expect(row.description.contains("have its place: [person with id = '1']"))
  }

  @Test(arguments: ["", "WITHOUT ROWID"], ["ON", "OFF"])
  func `a REPLACE removes for everybody what it removes here`(_ kind: String, _ recursive: String)
    throws
  {
    for rule in [DeleteRule.deleteWins, .updateWins, .lastWriter] {
      let (a, b) = try devices(
        """
        CREATE TABLE t (
          x TEXT NOT NULL, y BLOB NOT NULL, a, b, c NOT NULL, PRIMARY KEY (x, y), UNIQUE (a, b),
          UNIQUE (c)) \(kind);
        """, SyncTable("t", deletes: rule))
      try a.database.writeWithoutTransaction {
        try $0.execute(sql: "PRAGMA recursive_triggers = \(recursive)")
      }
      try a.execute(
        "INSERT INTO t VALUES ('1', x'01', 1, 1, 'p'), ('2', x'02', 2, 2, 'q'), ('3', x'03', 3, 3, 'r')"
      )
      try meetTwice(a, b)
      try a.execute("INSERT OR REPLACE INTO t VALUES ('4', x'04', 1, 1, 'q')")
      try meetTwice(a, b)
      #expect(try b.column("SELECT x FROM t ORDER BY x") == ["3", "4"])
      try a.execute("UPDATE OR REPLACE t SET a = 3, b = 3 WHERE x = '4'")
      try meetTwice(a, b)
      #expect(try b.column("SELECT x FROM t ORDER BY x") == ["4"])
      #expect(try b.store.counts().quarantined == 0)
      try expectEqual(a, b, "t")
    }
  }

  @Test func `what a REPLACE did not remove is not deleted`() throws {
    let (a, b) = try devices(people, SyncTable("person", deletes: .updateWins))
    try a.execute("INSERT INTO person VALUES ('1', 'ada@x', 'A')")
    try meetTwice(a, b)
    let operations = try a.store.counts().operations
    try a.execute("INSERT OR IGNORE INTO person VALUES ('2', 'ada@x', 'B')")
    #expect(throws: DatabaseError.self) {
      try a.execute("INSERT INTO person VALUES ('2', 'ada@x', 'B')")
    }
    try a.store.seal()
    #expect(try a.store.counts().operations == operations)
    try a.execute(
      """
      INSERT INTO person VALUES ('3', 'ADA@x', 'C')
      ON CONFLICT (mail) DO UPDATE SET name = excluded.name
      """)
    // The row as it was just before it went is what a change brings back.
    try a.execute("UPDATE person SET name = 'D'; DELETE FROM person")
    try b.execute("UPDATE person SET mail = 'new@x'")
    try meetTwice(a, b)
    #expect(
      try a.rows("SELECT id, mail, name FROM person")
        == [["1", "new@x", "D"].map(\.databaseValue)])
    try expectEqual(a, b, "person")
  }

  @Test func `values that rows pass on to each other arrive`() throws {
    let (a, b) = try devices(people, SyncTable("person"))
    try a.execute("INSERT INTO person VALUES ('1', 'x', 1), ('2', 'y', 2), ('3', 'z', 3)")
    try meetTwice(a, b)
    try a.execute(
      """
      UPDATE person SET mail = NULL WHERE id = '1'; UPDATE person SET mail = 'x' WHERE id = '2';
      UPDATE person SET mail = 'y' WHERE id = '3'; UPDATE person SET mail = 'z' WHERE id = '1'
      """)
    try meetTwice(a, b)
    #expect(try b.column("SELECT mail FROM person ORDER BY id") == ["z", "x", "y"])
    #expect(try b.store.counts().quarantined == 0)
  }

  @Test func `children of a row that is displaced are quarantined with it`() throws {
    let (a, b) = try devices(
      people
        + "CREATE TABLE pet (id TEXT NOT NULL PRIMARY KEY, owner TEXT REFERENCES person, tag UNIQUE);",
      SyncTable("pet"), SyncTable("person"))
    try a.execute("INSERT INTO person VALUES ('1', 'x', 1); INSERT INTO pet VALUES ('p', '1', 't')")
    try delay(b, after: a)
    try b.execute(
      """
      INSERT INTO person VALUES ('2', 'x', 2);
      INSERT INTO pet VALUES ('q', '2', 't'), ('r', '2', 'u')
      """)
    try meetTwice(a, b)
    for device in [a, b] {
      #expect(try device.column("SELECT id FROM pet") == ["p"])
      #expect(try device.rows("PRAGMA foreign_key_check").isEmpty)
      #expect(try device.store.counts().quarantined == 3)
    }
    try a.execute("DELETE FROM pet; DELETE FROM person")
    try meetTwice(a, b)
    for device in [a, b] {
      #expect(try device.column("SELECT id FROM pet ORDER BY id") == ["q", "r"])
    }
    try expectEqual(a, b, "person", "pet")
  }

  @Test func `a row whose parent is not here keeps no one out`() throws {
    let (a, b) = try devices(
      """
      CREATE TABLE owner (id TEXT NOT NULL PRIMARY KEY);
      CREATE TABLE pet (id TEXT NOT NULL PRIMARY KEY, owner TEXT REFERENCES owner, tag UNIQUE);
      """, SyncTable("owner"), SyncTable("pet"))
    try a.execute("INSERT INTO owner VALUES ('o')")
    try meetTwice(a, b)
    try a.execute("INSERT INTO pet VALUES ('p', 'o', 't')")
    try delay(b, after: a)
    try b.execute("DELETE FROM owner; INSERT INTO pet VALUES ('q', NULL, 't')")
    try meetTwice(a, b)
    for device in [a, b] { #expect(try device.column("SELECT id FROM pet") == ["q"]) }
    try b.execute("INSERT INTO owner VALUES ('o')")
    try meetTwice(a, b)
    for device in [a, b] { #expect(try device.column("SELECT id FROM pet") == ["p"]) }
    try expectEqual(a, b, "pet")
  }

  @Test func `references by a unique column follow who is shown`() throws {
    let (a, b) = try devices(
      """
      CREATE TABLE person (id TEXT NOT NULL PRIMARY KEY, mail TEXT UNIQUE, nick UNIQUE);
      CREATE TABLE pet (id TEXT NOT NULL PRIMARY KEY, owner TEXT REFERENCES person (mail));
      """, SyncTable("person"), SyncTable("pet"))
    try a.execute("INSERT INTO person VALUES ('1', 'x', 'n'); INSERT INTO pet VALUES ('p', 'x')")
    try delay(b, after: a)
    try b.execute(
      """
      INSERT INTO person VALUES ('2', 'x', NULL), ('3', 'y', 'n');
      INSERT INTO pet VALUES ('q', 'x'), ('r', 'y')
      """)
    try meetTwice(a, b)
    for device in [a, b] {
      #expect(try device.column("SELECT id FROM pet ORDER BY id") == ["p", "q"])
    }
    try a.execute("UPDATE person SET nick = NULL")
    try meetTwice(a, b)
    for device in [a, b] {
      #expect(try device.column("SELECT id FROM pet ORDER BY id") == ["p", "q", "r"])
      #expect(try device.rows("PRAGMA foreign_key_check").isEmpty)
    }
    try expectEqual(a, b, "person", "pet")
  }

  @Test func `an index that a migration adds or drops is heeded`() throws {
    let plain = "CREATE TABLE person (id TEXT NOT NULL PRIMARY KEY, mail TEXT, name)"
    let schema = SyncSchema(version: 1, tables: [SyncTable("person")])
    var a = try Device(DatabaseQueue(), schema, id: 1, migrator: .steps([plain]))
    let b = try Device(DatabaseQueue(), schema, id: 2, migrator: .steps([plain]))
    try a.execute("INSERT INTO person VALUES ('1', 'x', 1)")
    try meetTwice(a, b)
    let index = "CREATE UNIQUE INDEX mails ON person (mail)"
    a = try a.upgraded(schema, plain, index)
    try b.execute("INSERT INTO person VALUES ('2', 'x', 2), ('3', 'y', 3)")
    try a.pull(from: b)
    #expect(try a.column("SELECT id FROM person ORDER BY id") == ["1", "3"])
    try a.execute("INSERT OR REPLACE INTO person VALUES ('4', 'y', 4)")
    try meetTwice(a, b)
    #expect(try b.column("SELECT id FROM person ORDER BY id") == ["1", "2", "4"])
    a = try a.upgraded(schema, plain, index, "DROP INDEX mails")
    #expect(try a.column("SELECT id FROM person ORDER BY id") == ["1", "2", "4"])
    #expect(try a.store.counts().quarantined == 0)
    try expectEqual(a, b, "person")
  }

  @Test func `triggers of the app move no row against the state`() throws {
    let (a, b) = try devices(people, SyncTable("person"))
    try a.execute("INSERT INTO person VALUES ('1', 'x', 1), ('2', 'y', 2)")
    try meetTwice(a, b)
    try b.execute(
      """
      CREATE TRIGGER shout AFTER UPDATE ON person WHEN NEW.id = '1' AND NEW.name = 'go'
      BEGIN UPDATE person SET mail = 'w' WHERE id = '2'; END
      """)
    try a.execute(
      """
      UPDATE person SET mail = NULL; UPDATE person SET mail = 'x' WHERE id = '2';
      UPDATE person SET mail = 'y', name = 'go' WHERE id = '1';
      INSERT INTO person VALUES ('3', 'w', 3)
      """)
    try b.pull(from: a)
    try expectEqual(a, b, "person")
    #expect(try b.column("SELECT mail FROM person ORDER BY id") == ["y", "x", "w"])
  }

  @Test func `rows quarantined are listed with what they hold, and observers are told`()
    async throws
  {
    let (a, b) = try devices(people, SyncTable("person"))
    let observation = ValueObservation.tracking { try b.replica.inbox(in: $0).map(\.key) }
    var keys = observation.values(in: b.database).makeAsyncIterator()
    #expect(try await keys.next() == [])
    try a.execute("INSERT INTO person VALUES ('1', 'x', 1), ('3', 'y', 3)")
    try delay(b, after: a)
    try b.execute("INSERT INTO person VALUES ('2', 'X', 'B'), ('4', 'y', 4)")
    try meetTwice(a, b)
    try await expectNext([["2"], ["4"]], &keys)
    for device in [a, b] {
      let rows = try await device.replica.inbox()
      #expect(rows.map(\.table) == ["person", "person"] && rows.map(\.key) == [["2"], ["4"]])
      #expect(rows.map(\.kind) == [.displaced, .displaced])
      #expect(rows.first?.values == ["mail": "X", "name": "B"])
      #expect(try await device.replica.inbox(limit: 1) == Array(rows.prefix(1)))
    }
    try a.execute("DELETE FROM person WHERE id = '1'")
    try b.pull(from: a)
    try await expectNext([["4"]], &keys)
  }

  @Test func `observers are told of a row that comes and one that goes`() async throws {
    let (a, b) = try devices(people, SyncTable("person"))
    try b.execute("INSERT INTO person VALUES ('2', 'x', 2)")
    try delay(a, after: b)
    try a.execute("INSERT INTO person VALUES ('1', 'x', 1)")
    let observation = ValueObservation.tracking {
      try String.fetchAll($0, sql: "SELECT id FROM person")
    }
    var values = observation.values(in: a.database).makeAsyncIterator()
    #expect(try await values.next() == ["1"])
    try a.pull(from: b)
    try await expectNext(["2"], &values)
  }

  @Test func `a UNIQUE index of the key under another collation shows one of two rows`() throws {
    let schema = SyncSchema(version: 1, tables: [SyncTable("tag")])
    let (a, b) = try Device.pair(
      schema,
      """
      CREATE TABLE tag (name TEXT NOT NULL PRIMARY KEY, n INTEGER);
      CREATE UNIQUE INDEX tag_name ON tag (name COLLATE NOCASE);
      """)
    try a.commit("INSERT INTO tag VALUES ('Dune', 1)")
    try b.commit("INSERT INTO tag VALUES ('dune', 2)")
    try meet(a, b)
    try meet(a, b)
    #expect(try a.store.counts().quarantined == 1)
    #expect(try a.column("SELECT count(*) FROM tag") == ["1"])
    try expectEqual(a, b, "tag")
    // An update of the one that is shown is still one of that row.
    try a.execute("UPDATE tag SET n = n + 10")
    try meet(a, b)
    try expectEqual(a, b, "tag")
    let shown = try #require(try a.column("SELECT name FROM tag")[0])
    try a.execute("DELETE FROM tag")
    try meet(a, b)
    try meet(a, b)
    let other = shown == "Dune" ? "dune" : "Dune"
    #expect(try a.column("SELECT name FROM tag") == [other])
    try expectEqual(a, b, "tag")
    try a.execute("INSERT OR REPLACE INTO tag VALUES ('DUNE', 3)")
    try meet(a, b)
    #expect(try b.column("SELECT name FROM tag") == ["DUNE"])
    try expectEqual(a, b, "tag")
  }

  @Test func `a REPLACE that writes a column's default for NULL is noted`() throws {
    let schema = SyncSchema(version: 1, tables: [SyncTable("person")])
    let (a, b) = try Device.pair(
      schema,
      "CREATE TABLE person (id TEXT NOT NULL PRIMARY KEY, mail TEXT NOT NULL DEFAULT 'no' UNIQUE)")
    try a.execute("INSERT INTO person VALUES ('1', 'no')")
    try meet(a, b)
    try a.execute("INSERT OR REPLACE INTO person VALUES ('2', NULL)")
    try meet(a, b)
    #expect(try b.column("SELECT id || mail FROM person") == ["2no"])
    try expectEqual(a, b, "person")
    try a.execute("INSERT INTO person VALUES ('3', 'x')")
    try a.execute("UPDATE OR REPLACE person SET mail = NULL WHERE id = '3'")
    try meet(a, b)
    #expect(try b.column("SELECT id || mail FROM person") == ["3no"])
    try expectEqual(a, b, "person")
  }
}
