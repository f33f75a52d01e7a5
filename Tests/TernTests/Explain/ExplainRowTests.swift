import GRDB
import Tern
import TestDevice
import Testing

private let creation = """
  CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY, a, n INTEGER NOT NULL DEFAULT 0)
  """

private func schema(_ rule: DeleteRule, version: UInt32 = 1) -> SyncSchema {
  SyncSchema(version: version, tables: [SyncTable("t", merge: ["n": .counter], deletes: rule)])
}

private func pair(_ rule: DeleteRule) throws -> (Device, Device) {
  let (a, b) = try Device.pair(schema(rule), creation)
  try a.execute("INSERT INTO t VALUES ('1', 'A', 5)")
  try meet(a, b)
  return (a, b)
}

private let (idA, idB) = (ReplicaID(high: 0, low: 1), ReplicaID(high: 0, low: 2))

extension Device {
  fileprivate func explain(_ table: String = "t") async throws -> RowExplanation {
    try await replica.explain(table, key: ["1"])
  }
}

/// Whether a row stands, and why not.
@Suite("Explain: whether a row stands, and why not")
struct ExplainRowTests {
  @Test func `a delete that wins names its author, and the change that it beat`() async throws {
    let (a, b) = try pair(.deleteWins)
    try b.commit("UPDATE t SET a = 'B'")
    try a.commit("DELETE FROM t")
    try meet(a, b)
    for device in [a, b] {
      let row = try await device.explain()
      guard case .deleted(let stamp) = row.standing else {
        Issue.record("\(row)")
        return
      }
      #expect(stamp.author == idA && row.generation == 2 && row.deleteRule == .deleteWins)
      #expect(row.deletes.map(\.outcome) == [.stands] && row.deletes.first?.stamp == stamp)
      let column = try row.column("a")
      #expect(column.value == nil && column.stamp == nil)
      let lost = try column.write(.value("B"))
      #expect(lost.outcome == .beaten(.deleted) && lost.isConcurrent && lost.stamp.author == idB)
      #expect(try !column.write(.value("A")).isConcurrent)
    }
  }

  @Test func `a change that the delete had not seen brings the row back, and says so`()
    async throws
  {
    let (a, b) = try pair(.updateWins)
    try b.commit("UPDATE t SET a = 'B'")
    try a.commit("DELETE FROM t")
    try meet(a, b)
    for device in [a, b] {
      let row = try await device.explain()
      #expect(row.standing == .shown && row.generation == 1)
      #expect(row.deletes.map(\.outcome) == [.beaten(.changed)])
      #expect(row.deletes.map(\.stamp.author) == [idA])
      let column = try row.column("a")
      #expect(row.survivedBy == [try column.write(.value("B")).stamp])
      #expect(try column.value == "B" && column.write(.value("B")).outcome == .stands)
    }
    try a.commit("DELETE FROM t")
    try meet(a, b)
    let row = try await b.explain()
    #expect(row.standing == .deleted(try #require(row.deletes.first).stamp))
    #expect(row.deletes.map(\.outcome) == [.stands, .counts] && row.survivedBy.isEmpty)
    let column = try row.column("a")
    #expect(column.value == "B" && Set(column.writes.map(\.outcome)) == [.beaten(.deleted)])
  }

  // Of two writes in one millisecond b's is the later, by its id.
  @Test func `the later of a delete and a change stays under lastWriter`() async throws {
    let (a, b) = try pair(.lastWriter)
    try a.commit("DELETE FROM t")
    try b.commit("UPDATE t SET n = n + 1")
    try meet(a, b)
    var row = try await a.explain()
    #expect(row.standing == .shown && row.deletes.map(\.outcome) == [.beaten(.changed)])
    #expect(row.survivedBy == [try row.column("n").write(.difference(1)).stamp])
    try a.commit("UPDATE t SET n = n + 10")
    try b.commit("DELETE FROM t")
    try meet(a, b)
    row = try await a.explain()
    guard case .deleted(let stamp) = row.standing else {
      Issue.record("\(row)")
      return
    }
    #expect(stamp.author == idB && row.survivedBy.isEmpty)
    #expect(row.deletes.map(\.outcome) == [.stands, .counts])
    let lost = try row.column("n").write(.difference(10))
    #expect(lost.outcome == .beaten(.deleted) && lost.isConcurrent)
  }

  @Test func `a new life tells nothing of the one before`() async throws {
    for rule in [DeleteRule.deleteWins, .updateWins, .lastWriter] {
      let (a, b) = try pair(rule)
      try a.commit("DELETE FROM t")
      try a.commit("INSERT INTO t VALUES ('1', 'new', 1)")
      try meet(a, b)
      let row = try await b.explain()
      #expect(row.generation == 3 && row.standing == .shown && row.deletes.isEmpty)
      #expect(try row.column("a").writes.map(\.content) == [.value("new")])
      #expect(try row.column("n").writes.map(\.content) == [.difference(1)])
    }
  }

  @Test func `a row whose parent is missing names it`() async throws {
    let sql = """
      CREATE TABLE parent (id TEXT NOT NULL PRIMARY KEY);
      CREATE TABLE child (id TEXT NOT NULL PRIMARY KEY, p TEXT REFERENCES parent (id), a);
      """
    let schema = SyncSchema(version: 1, tables: [SyncTable("parent"), SyncTable("child")])
    let (a, b) = try Device.pair(schema, sql)
    try a.execute("INSERT INTO parent VALUES ('p')")
    try meet(a, b)
    try b.commit("INSERT INTO child VALUES ('1', 'p', 'x')")
    try a.commit("DELETE FROM parent")
    try meet(a, b)
    for device in [a, b] {
      let row = try await device.explain("child")
      #expect(
        row.standing
          == .quarantined(.orphaned, [.init(table: "parent", columns: ["id"], values: ["p"])]))
      let column = try row.column("a")
      #expect(column.value == "x" && column.stamp?.author == idB)
      #expect(row.description.contains("parent with id = 'p'"))
    }
    try a.commit("INSERT INTO parent VALUES ('p')")
    #expect(try await a.explain("child").standing == .shown)
  }

  @Test func `a row that a constraint refuses says so, with what it would hold`() async throws {
    let table = "CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY, a"
    let schema = SyncSchema(version: 1, tables: [SyncTable("t")])
    let a = try Device(schema, id: 1) { try $0.execute(sql: "\(table))") }
    let b = try Device(schema, id: 2) { try $0.execute(sql: "\(table) CHECK (a < 5))") }
    try a.execute("INSERT INTO t VALUES ('1', 9)")
    try b.pull(from: a)
    let row = try await b.explain()
    #expect(row.standing == .quarantined(.refused, []) && row.generation == 1)
    #expect(try row.column("a").value == 9)
  }

  @Test func `a row that is too large to travel says so`() async throws {
    let (a, _) = try pair(.deleteWins)
    #expect(try await !a.explain().isTooLarge)
    try a.execute("UPDATE t SET a = zeroblob(\(SyncOperation.Limit.rowBytes))")
    #expect(try await a.explain().isTooLarge)
  }

  @Test func `a renamed column keeps its writes under its new name`() async throws {
    let (a, b) = try pair(.deleteWins)
    try a.commit("UPDATE t SET a = 'old name'")
    let renamed = SyncSchema(
      version: 2, tables: [SyncTable("t", merge: ["n": .counter], formerColumnNames: ["b": "a"])])
    let upgraded = try a.upgraded(renamed, "ALTER TABLE t RENAME COLUMN a TO b")
    try b.commit("UPDATE t SET a = 'from a peer'")
    try upgraded.pull(from: b)
    let row = try await upgraded.explain()
    #expect(row.columns.map(\.name) == ["b", "n"] && row.deferred.isEmpty)
    let column = try row.column("b")
    #expect(column.value == "from a peer" && column.stamp?.author == idB)
    #expect(
      column.writes.map(\.content) == [.value("from a peer"), .value("old name"), .value("A")])
  }

  @Test func `what a newer schema wrote is told of as waiting, and stands after the upgrade`()
    async throws
  {
    let (a, b) = try pair(.deleteWins)
    let more = "ALTER TABLE t ADD COLUMN more"
    let newer = try b.upgraded(schema(.deleteWins, version: 2), more)
    try newer.commit("UPDATE t SET more = 'm', a = 'B'")
    try a.pull(from: newer)
    var row = try await a.explain()
    #expect(try row.columns.map(\.name) == ["a", "n"] && row.column("a").value == "B")
    #expect(row.deferred.map(\.name) == ["more"] && row.deferred.first?.writeCount == 1)
    #expect(row.deferred.first?.writes.first?.content == .value("m"))
    #expect(try row.deferred.first?.writes.first?.stamp == row.column("a").stamp)
    row = try await a.upgraded(schema(.deleteWins, version: 2), more).explain()
    #expect(try row.deferred.isEmpty && row.column("more").value == "m")
    #expect(try row.column("more").write(.value("m")).outcome == .stands)
  }

  @Test func `what a schema with another rule for deletes wrote waits whole`() async throws {
    let (a, _) = try pair(.deleteWins)
    let c = try Device(schema(.updateWins), id: 3) { try $0.execute(sql: creation) }
    try c.commit("INSERT INTO t VALUES ('1', 'C', 1)")
    try c.commit("DELETE FROM t")
    try a.pull(from: c)
    let row = try await a.explain()
    #expect(row.pendingChanges == 2 && row.deferred.isEmpty && row.standing == .shown)
    #expect(try row.column("a").writeCount == 1 && row.deletes.isEmpty)
    let changes = try await a.replica.history("t", key: ["1"]).changes
    #expect(changes.map(\.isMerged) == [true, false, false])
    #expect(changes.map { $0.columns.filter(\.isDeferred).count } == [0, 2, 0])
  }

  @Test func `a change that waits for the clock is counted, and not among the writes`()
    async throws
  {
    let (a, b) = try pair(.deleteWins)
    try a.commit("UPDATE t SET a = 'late'")
    let last = try #require(
      try a.store.operations(lackedBy: b.store.versionVector(), maximumBytes: .max).last)
    let ahead = HybridTime(milliseconds: last.envelope.time.milliseconds + 86_400_000)
    try b.merge([last.restamped(ahead)])
    let row = try await b.explain()
    #expect(row.pendingChanges == 1)
    #expect(try row.column("a").value == "A" && row.column("a").writeCount == 1)
  }
}
