import Foundation
import GRDB
import Synchronization
import TestDevice
import Testing

@testable import Tern

private let creation = """
  CREATE TABLE shelf (id TEXT NOT NULL PRIMARY KEY);
  CREATE TABLE book (
    id TEXT NOT NULL PRIMARY KEY, title TEXT, note TEXT DEFAULT 'none', shelf TEXT REFERENCES shelf);
  """

private func schema(_ rule: DeleteRule) -> SyncSchema {
  SyncSchema(version: 1, tables: [SyncTable("shelf"), SyncTable("book", deletes: rule)])
}

/// A device whose index has an expression of the app's that can fail: SQLite then refuses to
/// delete the row as well.
private struct Stubborn {
  private final class Switch: Sendable { let isOn = Atomic(false) }
  private let failing = Switch()
  let device: Device

  init(_ rule: DeleteRule, id: UInt64, path: String = ":memory:") throws {
    let failing = failing
    var configuration = Configuration()
    configuration.prepareDatabase { db in
      let kind = DatabaseFunction("kind", argumentCount: 1, pure: true) { values in
        let title = values[0].storage.value as? String
        if title == "fixed", failing.isOn.load(ordering: .relaxed) {
          throw DatabaseError(message: "no kinds today")
        }
        return title
      }
      db.add(function: kind)
    }
    device = try Device(
      schema(rule), id: id, database: DatabaseQueue(path: path, configuration: configuration)
    ) {
      try $0.execute(sql: creation + "CREATE INDEX kind ON book (kind(title));")
    }
  }

  func refuse(_ isRefusing: Bool) { failing.isOn.store(isRefusing, ordering: .relaxed) }
}

private func reasons(_ device: Device) throws -> [String] {
  try device.database.read { db in
    try device.replica.inbox(in: db).filter { $0.id < 0 }.map { "\($0.key) \($0.kind)" }
  }
}

/// Findings but those that only count.
private func findings(_ device: Device) throws -> [String] {
  try device.database.read { try DatabaseDiagnosis($0) }.findings.map(\.check)
}

@Suite("Merge: deletes that a table refuses")
struct RefusedDeleteTests {
  private func pair(_ rule: DeleteRule, path: String = ":memory:") throws -> (Device, Stubborn) {
    let a = try Device(schema(rule), id: 1) { try $0.execute(sql: creation) }
    let b = try Stubborn(rule, id: 2, path: path)
    try a.execute("INSERT INTO shelf VALUES ('s')")
    try a.execute("INSERT INTO book VALUES ('1', 'fixed', 'old', 's'), ('2', 'Emma', 'n', 's')")
    try meet(a, b.device)
    return (a, b)
  }

  private func expectSame(_ a: Device, _ b: Device) throws {
    try expectEqual(a, b, "book", "shelf")
    #expect(try findings(b) == [])
  }

  @Test(arguments: [DeleteRule.deleteWins, .updateWins, .lastWriter])
  func `a row stands, named, until its table lets it go`(_ rule: DeleteRule) async throws {
    let path = FileManager.default.temporaryDirectory
      .appending(path: "tern-refused-\(ProcessInfo.processInfo.globallyUniqueString)").path
    defer { for end in ["", "-wal", "-shm", "-tern.id"] { unlink(path + end) } }
    let (a, b) = try pair(rule, path: path)
    b.refuse(true)
    try a.execute("DELETE FROM book")
    try meet(a, b.device)
    #expect(try b.device.column("SELECT id FROM book") == ["1"])
    #expect(try b.device.store.counts().quarantined == 1)
    #expect(try reasons(b.device) == ["['1'] removal"])
    let diagnosis = try await b.device.database.read { try DatabaseDiagnosis($0) }
    #expect(diagnosis.findings.isEmpty)
    #expect(diagnosis.remarks.filter { $0.check == "held" }.map(\.place.table) == ["book"])
    let inspection = try DatabaseFileInspection(path: path)
    #expect(
      inspection.replicas[0].tables.first { $0.name == "book" }?.quarantined == ["removal": 1])
    let standing = try await b.device.replica.explain("book", key: ["1"]).standing
    #expect(standing == .quarantined(.removal, []))
    // Nothing else waits for it, and nothing is sent twice.
    try a.execute("INSERT INTO book (id, title) VALUES ('3', 'Dune')")
    try meet(a, b.device)
    #expect(try b.device.column("SELECT id FROM book ORDER BY id") == ["1", "3"])
    #expect(try reasons(b.device) == ["['1'] removal"])
    b.refuse(false)
    try a.execute("INSERT INTO book (id, title) VALUES ('4', 'Persuasion')")
    try meet(a, b.device)
    #expect(try b.device.column("SELECT id FROM book ORDER BY id") == ["3", "4"])
    try expectSame(a, b.device)
    // What it held is kept as of any deleted row.
    try b.device.execute("UPDATE book SET title = 'D' WHERE id = '3'")
    try meet(a, b.device)
    try expectSame(a, b.device)
  }

  @Test(arguments: [DeleteRule.deleteWins, .updateWins, .lastWriter])
  func `a row that is inserted again shows nothing of what would not go`(_ rule: DeleteRule) throws
  {
    let (a, b) = try pair(rule)
    b.refuse(true)
    try a.commit("DELETE FROM book WHERE id = '1'")
    try meet(a, b.device)
    try a.commit("INSERT INTO book (id, title) VALUES ('1', 'new')")
    try meet(a, b.device)
    try a.commit("UPDATE book SET title = 'newer' WHERE id = '1'")
    try meet(a, b.device)
    b.refuse(false)
    try a.commit("INSERT INTO shelf VALUES ('t')")
    try meet(a, b.device)
    #expect(try b.device.column("SELECT title FROM book WHERE id = '1'") == ["newer"])
    try expectSame(a, b.device)
  }

  @Test func `an edit that revives a row that would not go finds its values`() throws {
    let (a, b) = try pair(.updateWins)
    b.refuse(true)
    try b.device.execute("UPDATE book SET note = 'seen by none' WHERE id = '2'")
    let c = try Device(schema(.updateWins), id: 3) { try $0.execute(sql: creation) }
    try meet(a, c)
    try a.commit("DELETE FROM book WHERE id = '1'")
    try c.commit("UPDATE book SET note = 'edited' WHERE id = '1'")
    try meet(a, b.device)
    #expect(try reasons(b.device) == ["['1'] removal"])
    try meet(c, b.device)
    // The new values don't fit into the old row either.
    #expect(try reasons(b.device) == ["['1'] removal"])
    b.refuse(false)
    try meet(c, b.device)
    #expect(try b.device.column("SELECT title || note FROM book WHERE id = '1'") == ["fixededited"])
    #expect(try b.device.store.counts().quarantined == 0)
    try meet(a, b.device)
    try meet(a, c)
    try expectSame(a, b.device)
  }

  @Test func `a child that would not go keeps what others write, and a snapshot has that`() throws {
    let (a, b) = try pair(.deleteWins)
    b.refuse(true)
    try a.execute("UPDATE book SET shelf = NULL; DELETE FROM shelf; ")
    let c = try Device(schema(.deleteWins), id: 3) { try $0.execute(sql: creation) }
    try meet(a, c)
    try c.commit("INSERT INTO shelf VALUES ('x'); UPDATE book SET shelf = 'x' WHERE id = '1'")
    try a.commit("UPDATE book SET note = 'written' WHERE id = '1'")
    try meet(c, b.device)
    try c.commit("UPDATE book SET shelf = NULL; DELETE FROM shelf")
    try b.device.pull(from: c)
    try meet(a, b.device)
    #expect(try b.device.store.counts().quarantined == 0)
    try meet(a, c)
    try expectSame(a, b.device)
  }

  @Test func `an orphan that would not go is quarantined once it does`() throws {
    let (a, b) = try pair(.deleteWins)
    b.refuse(true)
    try a.execute("UPDATE book SET shelf = NULL WHERE id = '2'")
    try b.device.execute("UPDATE book SET note = 'late' WHERE id = '2'")
    let c = try Device(schema(.deleteWins), id: 3) { try $0.execute(sql: creation) }
    try meet(a, c)
    try c.database.writeWithoutTransaction { db in
      try db.execute(sql: "PRAGMA foreign_keys = OFF; DELETE FROM shelf; PRAGMA foreign_keys = ON")
    }
    try a.execute("UPDATE book SET note = 'written' WHERE id = '1'")
    try meet(c, b.device)
    #expect(try b.device.column("SELECT note FROM book WHERE id = '1'") == ["old"])
    #expect(try reasons(b.device) == ["['1'] removal"])
    try meet(a, b.device)
    try meet(a, c)
    #expect(try b.device.column("SELECT note FROM book WHERE id = '1'") == ["old"])
    #expect(
      try a.store.canonicalState().map(\.cells) == b.device.store.canonicalState().map(\.cells))
    // SQLite's own check says that its parent is gone.
    #expect(try findings(b.device) == ["sqlite-references"])
    let d = try Device(schema(.deleteWins), id: 4) { try $0.execute(sql: creation) }
    try d.load(Parts(of: b.device))
    try d.commit("INSERT INTO shelf VALUES ('s')")
    #expect(try d.column("SELECT note FROM book WHERE id = '1'") == ["written"])
    b.refuse(false)
    try meet(a, b.device)
    try b.device.store.access.settle()
    #expect(try b.device.column("SELECT id FROM book") == ["2"])
    #expect(try reasons(b.device) == ["['1'] orphaned"])
    try meet(d, b.device)
    #expect(try b.device.column("SELECT note FROM book WHERE id = '1'") == ["written"])
    #expect(try findings(b.device) == [])
  }

  @Test func `a row that would not go and the app takes away itself is forgotten`() throws {
    let (a, b) = try pair(.deleteWins)
    b.refuse(true)
    try a.execute("DELETE FROM book WHERE id = '1'")
    try meet(a, b.device)
    b.refuse(false)
    try b.device.commit("DELETE FROM book WHERE id = '1'")
    try b.device.store.access.settle()
    #expect(try b.device.store.counts().quarantined == 0)
    try meet(a, b.device)
    try expectSame(a, b.device)
  }
}
