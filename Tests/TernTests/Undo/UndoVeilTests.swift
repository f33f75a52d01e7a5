import GRDB
import Tern
import TestDevice
import Testing

@Suite("Undo: rows without their deleted parents")
struct UndoVeilTests {
  @Test(arguments: [true, false])
  func `a row that a file shows with a default comes back with it`(_ isBack: Bool) async throws {
    let (a, b) = try Device.pair(
      SyncSchema(version: 1, tables: [SyncTable("person"), SyncTable("item")]),
      """
      CREATE TABLE person (id TEXT NOT NULL PRIMARY KEY);
      CREATE TABLE item (
        id TEXT NOT NULL PRIMARY KEY,
        person TEXT DEFAULT 'nobody' REFERENCES person ON DELETE SET DEFAULT)
      """)
    try a.commit("INSERT INTO person VALUES ('nobody'), ('ben')")
    try meet(a, b)
    try a.commit("INSERT INTO item VALUES ('milk', 'ben')")
    try b.commit("DELETE FROM person WHERE id = 'ben'")
    try meetTwice(a, b)
    try await a.withKeptFile { path in
      try a.commit("DELETE FROM item")
      if isBack { try a.commit("INSERT INTO person VALUES ('ben')") }
      try await a.replica.restoreRows(fromFile: path)
    }
    try meetTwice(a, b)
    for device in [a, b] {
      #expect(try device.column("SELECT person FROM item") == [isBack ? "ben" : "nobody"])
    }
  }

  @Test(arguments: [true, false])
  func `rows that a file has veiled come back with what they hold, if that is here`(_ isBack: Bool)
    async throws
  {
    let (a, b) = try VeiledItems.met()
    try await a.withKeptFile { path in
      try a.commit("DELETE FROM item")
      if isBack { try a.commit(VeiledItems.comeBack) }
      try await a.replica.restoreRows(fromFile: path)
    }
    try meetTwice(a, b)
    for device in [a, b] {
      #expect(try device.itemLines == ["milk Milk \(isBack ? "ben" : "-")"])
    }
  }

  @Test(arguments: [
    ("UPDATE item SET title = 'M'", "milk Milk -", "milk Milk ben"),
    ("REPLACE INTO item VALUES ('milk', 'M', NULL, NULL)", "milk Milk -", "milk Milk ben"),
    // What it had is not there to be given back.
    ("UPDATE item SET person = 'ann'", "milk Milk ann", "milk Milk ann"),
    ("DELETE FROM item", "milk Milk -", "milk Milk -"),
  ])
  func `what is taken back leaves the row what it held`(
    _ statement: String, _ before: String, _ after: String
  ) async throws {
    let (a, b) = try VeiledItems.met()
    try a.commit(statement)
    _ = try await a.replica.undo()
    try meetTwice(a, b)
    for device in [a, b] { #expect(try device.itemLines == [before]) }
    try b.commit(VeiledItems.comeBack)
    try meetTwice(a, b)
    for device in [a, b] { #expect(try device.itemLines == [after]) }
  }

  @Test func `the parent's delete is taken back, and the row has it again`() async throws {
    let (a, b) = try VeiledItems.met()
    _ = try await b.replica.undo()
    try meetTwice(a, b)
    for device in [a, b] { #expect(try device.itemLines == ["milk Milk ben"]) }
    #expect(try a.inbox.isEmpty && b.inbox.isEmpty)
  }

  @Test func `a reference that is taken back stays away, though its veil shows that already`()
    async throws
  {
    let (a, b) = try VeiledItems.pair()
    try a.commit("INSERT INTO item VALUES ('milk', 'Milk', 'high', NULL)")
    try meetTwice(a, b)
    try a.commit("UPDATE item SET person = 'ben'")
    try b.commit("DELETE FROM person WHERE id = 'ben'")
    try meetTwice(a, b)
    _ = try await a.replica.undo()
    try meetTwice(a, b)
    try b.commit(VeiledItems.comeBack)
    try meetTwice(a, b)
    for device in [a, b] { #expect(try device.itemLines == ["milk Milk -"]) }
    #expect(try a.inbox.isEmpty && b.inbox.isEmpty)
  }
}
