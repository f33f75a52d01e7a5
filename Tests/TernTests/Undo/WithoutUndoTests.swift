import GRDB
import Tern
import TestDevice
import TestProcesses
import Testing

private let creation = "CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY, a)"

private func pair() throws -> (Device, Device) {
  let schema = SyncSchema(version: 1, tables: [SyncTable("t")])
  return try Device.pair(schema, creation)
}

extension Device {
  fileprivate func commitWithoutUndo(_ sql: String) throws {
    try database.write { db in try replica.writeWithoutUndo(in: db) { try $0.execute(sql: sql) } }
  }

  fileprivate var rows: [String?] {
    get throws { try column("SELECT id || coalesce(a, '') FROM t ORDER BY id") }
  }
}

@Suite("Undo: writes without undo")
struct WithoutUndoTests {
  @Test func `what was written without undo travels, and an undo passes it over`() throws {
    let (a, b) = try pair()
    try a.execute("INSERT INTO t VALUES ('question', '')")
    try a.commitWithoutUndo("INSERT INTO t VALUES ('answer', '')")
    try meet(a, b)
    #expect(try b.rows == ["answer", "question"])
    #expect(try a.store.undo()?.rows.map(\.key) == [["question"]])
    #expect(try a.store.undo() == nil)
    try meet(a, b)
    #expect(try b.rows == ["answer"])
    try expectEqual(a, b, "t")
  }

  @Test func `a transaction of another connection is the one that is written in`() throws {
    try withTemporaryFolder { folder in
      let path = "\(folder)/app.sqlite"
      let a = try Device(
        SyncSchema(version: 1, tables: [SyncTable("t")]), id: 1, database: DatabaseQueue(path: path)
      ) { try $0.execute(sql: creation) }
      let other = try DatabaseQueue(path: path)
      for round in 1...2 {
        // What the replica's own connection runs comes before and after.
        try a.commit("INSERT INTO t VALUES ('own \(round)', '')")
        try other.write { db in
          try a.replica.writeWithoutUndo(in: db) {
            try $0.execute(sql: "INSERT INTO t VALUES ('other \(round)', '')")
          }
          #expect(try a.store.counts().operations == 2 * round - 1)
        }
        #expect(try a.store.counts().operations == 2 * round)
        #expect(try a.store.counts().unsealedChanges == 0)
      }
    }
  }

  @Test func `what one transaction wrote before it is an operation of its own`() throws {
    let (a, b) = try pair()
    try a.database.write { db in
      try db.execute(sql: "INSERT INTO t VALUES ('mine', '')")
      try a.replica.writeWithoutUndo(in: db) {
        try $0.execute(sql: "INSERT INTO t VALUES ('auto', '')")
      }
      try db.execute(sql: "INSERT INTO t VALUES ('mine too', '')")
    }
    #expect(try a.store.undo()?.rows.map(\.key) == [["mine too"]])
    #expect(try a.store.undo()?.rows.map(\.key) == [["mine"]])
    #expect(try a.rows == ["auto"])
    try meet(a, b)
    try expectEqual(a, b, "t")
  }

  @Test func `what the body throws leaves nothing, and the transaction goes on`() throws {
    struct Refused: Error {}
    let (a, b) = try pair()
    try a.database.write { db in
      #expect(throws: Refused.self) {
        try a.replica.writeWithoutUndo(in: db) { db in
          try db.execute(sql: "INSERT INTO t VALUES ('lost', '')")
          throw Refused()
        }
      }
      try db.execute(sql: "INSERT INTO t VALUES ('kept', '')")
    }
    #expect(try a.rows == ["kept"])
    try meet(a, b)
    try expectEqual(a, b, "t")
  }

  @Test func `inside a write that goes on, it is an operation between two others`() throws {
    let (a, b) = try pair()
    try a.store.write { db in
      try db.execute(sql: "INSERT INTO t VALUES ('1', 'mine')")
      try a.replica.writeWithoutUndo(in: db) {
        try $0.execute(sql: "INSERT INTO t VALUES ('2', 'auto')")
      }
      try db.execute(sql: "INSERT INTO t VALUES ('3', 'mine too')")
    }
    let operations = try a.store.operations(lackedBy: VersionVector(), maximumBytes: .max)
    #expect(operations.map(\.envelope.sequence) == [1, 2, 3])
    #expect(operations.map(\.envelope.time) == operations.map(\.envelope.time).sorted())
    #expect(try a.store.undo()?.rows.map(\.key) == [["3"]])
    #expect(try a.store.undo()?.rows.map(\.key) == [["1"]])
    #expect(try a.rows == ["2auto"])
    try meet(a, b)
    try expectEqual(a, b, "t")
  }

  @Test func `one inside another is an operation of its own, and no undo is about either`() throws {
    let (a, b) = try pair()
    try a.database.write { db in
      try a.replica.writeWithoutUndo(in: db) { db in
        try db.execute(sql: "INSERT INTO t VALUES ('1', 'outer')")
        try a.replica.writeWithoutUndo(in: db) {
          try $0.execute(sql: "INSERT INTO t VALUES ('2', 'inner')")
        }
        try db.execute(sql: "INSERT INTO t VALUES ('3', 'outer')")
      }
    }
    #expect(try a.store.counts().operations == 3)
    #expect(try a.store.undo() == nil)
    #expect(try a.rows == ["1outer", "2inner", "3outer"])
    try meet(a, b)
    try expectEqual(a, b, "t")
  }

  @Test func `an undo after it takes back the rest of the operation before`() throws {
    let (a, _) = try pair()
    try a.execute("INSERT INTO t VALUES ('1', 'one'), ('2', 'one')")
    try a.store.seal()
    try a.execute("UPDATE t SET a = 'two'")
    try a.commitWithoutUndo("UPDATE t SET a = 'auto' WHERE id = '2'")
    #expect(try a.store.undo()?.rows.map(\.action) == [.restored, .left])
    #expect(try a.rows == ["1one", "2auto"])
  }
}
