import GRDB
import Tern
import TestDevice
import Testing

private let schema = SyncSchema(version: 1, tables: [SyncTable("t"), SyncTable("u")])

private func device(_ id: UInt64) throws -> Device {
  try Device(schema, id: id) { db in
    for table in ["t", "u"] {
      try db.execute(sql: "CREATE TABLE \(table) (id TEXT NOT NULL PRIMARY KEY, name)")
    }
  }
}

@Suite("Changes: keys of changed rows", .timeLimit(.minutes(1)))
struct ChangesTests {
  @Test func `a seal tells the keys that were written here, and a merge those of others`()
    async throws
  {
    let (a, b) = (try device(1), try device(2))
    var local = a.replica.changes().makeAsyncIterator()
    var merged = b.replica.changes().makeAsyncIterator()
    try a.execute("INSERT INTO t VALUES ('1', 'x'), ('2', 'x'); INSERT INTO u VALUES ('3', 'x')")
    try b.pull(from: a)
    let first = try #require(try await local.next())
    #expect(first.local == ["t": .keys([["1"], ["2"]]), "u": .keys([["3"]])])
    #expect(first.merged.isEmpty)
    let second = try #require(try await merged.next())
    #expect(second.merged == first.local)
    #expect(second.local.isEmpty)
    #expect(second["T"] == .keys([["1"], ["2"]]))
    #expect(second["other"] == nil)

    try a.execute("UPDATE t SET name = 'y' WHERE id = '1'; DELETE FROM t WHERE id = '2'")
    try b.pull(from: a)
    #expect(try await local.next()?.local == ["t": .keys([["1"], ["2"]])])
    #expect(try await merged.next()?.merged == ["t": .keys([["1"], ["2"]])])
  }

  @Test func `what comes while nobody looks is one element, and too many keys are everything`()
    async throws
  {
    let a = try device(1)
    var changes = a.replica.changes().makeAsyncIterator()
    for row in 0..<3 {
      try a.execute("INSERT INTO t VALUES (?, 'x')", ["\(row)"])
      try a.store.seal()
    }
    #expect(try await changes.next()?.local == ["t": .keys([["0"], ["1"], ["2"]])])
    for round in 0..<2 {
      try a.execute(
        """
        WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 600)
        INSERT INTO t SELECT \(round) || '.' || i, 'x' FROM n
        """)
      try a.execute("INSERT INTO u VALUES (?, 'x')", ["\(round)"])
      try a.store.seal()
    }
    #expect(try await changes.next()?.local == ["t": .all, "u": .keys([["0"], ["1"]])])
  }

  @Test func `a row that is too large to travel is told of like any other`() async throws {
    let a = try device(1)
    var changes = a.replica.changes().makeAsyncIterator()
    try await a.replica.write {
      try $0.execute(sql: "INSERT INTO t VALUES ('1', zeroblob(16000000)), ('2', 'short')")
    }
    #expect(try await changes.next()?.local == ["t": .keys([["1"], ["2"]])])
    try await a.replica.write {
      try $0.execute(sql: "UPDATE t SET name = zeroblob(16000001) WHERE id = '1'")
    }
    #expect(try a.store.counts().largeRows == ["t": 1])
    #expect(try await changes.next()?.local == ["t": .keys([["1"]])])
  }

  @Test func `a merge that fails tells nothing, and neither does one without news`() async throws {
    let (a, b) = (try device(1), try device(2))
    var changes = b.replica.changes().makeAsyncIterator()
    try a.execute("INSERT INTO t VALUES ('1', 'x')")
    try a.store.seal()
    try a.execute("INSERT INTO t VALUES ('2', 'x')")
    try a.store.seal()
    let operations = try a.store.operations(lackedBy: VersionVector(), maximumBytes: .max)
    #expect(throws: MergeError.self) { try b.merge([operations[1]]) }
    try b.merge([operations[0]])
    try b.merge([operations[0]])
    try b.merge([operations[1]])
    #expect(try await changes.next()?.merged == ["t": .keys([["1"], ["2"]])])
  }

  @Test func `each consumer has its own, and cancelling one ends it alone`() async throws {
    let a = try device(1)
    let (first, second) = (a.replica.changes(), a.replica.changes())
    let task = Task {
      for await _ in first {}
      return true
    }
    task.cancel()
    #expect(await task.value)
    try await a.replica.write { try $0.execute(sql: "INSERT INTO t VALUES ('1', 'x')") }
    var iterator = second.makeAsyncIterator()
    #expect(try await iterator.next()?.local == ["t": .keys([["1"]])])
  }

  @Test func `a row that a trigger of the app would touch is not told of with the merge`()
    async throws
  {
    let (a, b) = (try device(1), try device(2))
    try b.execute(
      """
      INSERT INTO t VALUES ('9', 'mine');
      CREATE TRIGGER app AFTER INSERT ON t WHEN NEW.id <> '9' BEGIN
        UPDATE t SET name = 'touched' WHERE id = '9';
      END
      """)
    try b.store.seal()
    var changes = b.replica.changes().makeAsyncIterator()
    try a.execute("INSERT INTO t VALUES ('1', 'x')")
    try b.pull(from: a)
    #expect(try await changes.next()?.merged["t"] == .keys([["1"]]))
    #expect(try b.column("SELECT name FROM t ORDER BY id") == ["x", "mine"])
  }
}
