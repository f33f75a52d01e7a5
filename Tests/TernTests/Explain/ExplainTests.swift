import Foundation
import GRDB
import Tern
import TestDevice
import Testing

private let creation = """
  CREATE TABLE book (isbn TEXT NOT NULL PRIMARY KEY, title, scans INTEGER NOT NULL DEFAULT 0,
    sure, tags TEXT NOT NULL DEFAULT '[]')
  """
private let schema = SyncSchema(
  version: 1,
  tables: [
    SyncTable("book", merge: ["scans": .counter, "sure": .max, "tags": .set])
  ])

private func pair() throws -> (Device, Device) {
  try Device.pair(schema, creation)
}

/// Both have the row, written by `a`.
private func pairWithRow() throws -> (Device, Device) {
  let (a, b) = try pair()
  try a.execute("INSERT INTO book VALUES ('1', 'Dune', 1, 5, '[\"x\"]')")
  try meet(a, b)
  return (a, b)
}

/// Another program, which has the write lock.
private func locked(_ path: String) throws -> DatabaseQueue {
  var configuration = Configuration()
  configuration.allowsUnsafeTransactions = true
  let other = try DatabaseQueue(path: path, configuration: configuration)
  try other.writeWithoutTransaction { try $0.execute(sql: "BEGIN IMMEDIATE") }
  return other
}

private let (idA, idB) = (ReplicaID(high: 0, low: 1), ReplicaID(high: 0, low: 2))

extension Device {
  func explain(_ key: SQLiteValue = "1", table: String = "book") async throws -> RowExplanation {
    try await replica.explain(table, key: [key])
  }
}

extension RowExplanation {
  func column(_ name: String) throws -> Column {
    try #require(columns.first { $0.name == name })
  }
}

extension RowExplanation.Column {
  func write(_ content: WriteContent) throws -> RowExplanation.Write {
    try #require(writes.first { $0.content == content })
  }
}

@Suite("Explain: which write a column shows, and why")
struct ExplainTests {
  @Test func `a later write stands, and a concurrent one and one it had seen are beaten`()
    async throws
  {
    let (a, b) = try pairWithRow()
    try a.commit("UPDATE book SET title = 'from a'")
    try b.commit("UPDATE book SET title = 'from b'")
    try meet(a, b)
    for device in [a, b] {
      let row = try await device.explain()
      #expect(row.standing == .shown && row.generation == 1 && row.deletes.isEmpty)
      let title = try row.column("title")
      #expect(title.value == "from b" && title.rule == .lastWriter && title.writeCount == 3)
      #expect(title.stamp?.author == idB)
      #expect(try title.stamp?.isOwn == (device.store.replicaID() == idB))
      let (first, lost, stands) = (
        try title.write(.value("Dune")), try title.write(.value("from a")),
        try title.write(.value("from b"))
      )
      #expect(stands.outcome == .stands && !stands.isConcurrent && stands.stamp == title.stamp)
      #expect(lost.outcome == .beaten(.later) && lost.isConcurrent && lost.stamp.author == idA)
      #expect(first.outcome == .beaten(.later) && !first.isConcurrent && first.sequence == 1)
      #expect(title.writes == [stands, lost, first] && title.beaten == [lost, first])
    }
    // The same on both, but for whose writes are own.
    let others = try await b.explain().columns
    #expect(try await a.explain().columns.map(\.value) == others.map(\.value))
  }

  @Test func `the time of a write is a date`() async throws {
    let (a, _) = try pairWithRow()
    let stamp = try #require(try await a.explain().column("title").stamp)
    let state = try #require(try a.store.canonicalState().first)
    #expect(stamp.time == state.time)
    #expect(Int64(stamp.time.date.timeIntervalSince1970 * 1000) == stamp.time.milliseconds)
  }

  @Test func `what two add to a counter counts, each with its author`() async throws {
    let (a, b) = try pairWithRow()
    try a.commit("UPDATE book SET scans = scans + 2")
    try b.commit("UPDATE book SET scans = scans + 40")
    try meet(a, b)
    let scans = try await b.explain().column("scans")
    #expect(scans.value == 43 && scans.beaten.isEmpty && scans.writeCount == 3)
    #expect(scans.writes.map(\.content) == [.difference(40), .difference(2), .difference(1)])
    #expect(scans.writes.map(\.stamp.author) == [idB, idA, idA])
    #expect(scans.writes.allSatisfy { $0.outcome == .counts })
    #expect(scans.writes.map(\.isConcurrent) == [false, true, false])
  }

  @Test func `a lesser value and the same one written later are beaten under max`() async throws {
    let (a, b) = try pairWithRow()
    try a.commit("UPDATE book SET sure = 9")
    try b.commit("UPDATE book SET sure = 7")
    try b.commit("UPDATE book SET sure = 9")
    try meet(a, b)
    let sure = try await b.explain().column("sure")
    #expect(sure.value == 9 && sure.stamp?.author == idA)
    let outcomes = sure.writes.map(\.outcome)
    #expect(
      outcomes == [.beaten(.earlierEqual), .beaten(.extreme), .stands, .beaten(.extreme)])
    #expect(sure.writes.map(\.isConcurrent) == [true, true, false, false])
  }

  @Test func `a set's elements name who added them, and a write all of which went is beaten`()
    async throws
  {
    let (a, b) = try pairWithRow()
    try a.commit(#"UPDATE book SET tags = '["a","x"]'"#)
    try b.commit("UPDATE book SET tags = '[\"x\",\"both\"]'")
    try meet(a, b)
    try b.commit("UPDATE book SET tags = '[\"x\",\"both\"]'")
    try meet(a, b)
    let tags = try await a.explain().column("tags")
    #expect(tags.value == #"["both","x"]"#)
    #expect(tags.elements.map(\.value) == ["both", "x"])
    #expect(tags.elements.map { $0.addedBy.map(\.author) } == [[idB], [idA]])
    let lost = try tags.write(.set(added: ["a"], removed: []))
    #expect(lost.outcome == .beaten(.removed) && lost.stamp.author == idA)
    #expect(try tags.write(.set(added: [], removed: ["a"])).outcome == .counts)
    #expect(tags.beaten == [lost])
  }

  @Test func `a removal that somebody's addition survived is beaten`() async throws {
    let (a, b) = try pairWithRow()
    try a.commit("UPDATE book SET tags = '[]'; UPDATE book SET title = 'n'")
    try b.commit("UPDATE book SET tags = '[]'")
    try b.commit("UPDATE book SET tags = '[\"x\"]'")
    try meet(a, b)
    let tags = try await a.explain().column("tags")
    #expect(tags.elements.map { $0.addedBy.map(\.author) } == [[idB]])
    let removal = try #require(
      tags.writes.first { $0.stamp.author == idA && $0.content == .set(added: [], removed: ["x"]) })
    #expect(removal.outcome == .beaten(.added) && removal.isConcurrent)
  }

  @Test func `a row that never was is unknown, and a migration's own is in the table alone`()
    async throws
  {
    let (a, _) = try pairWithRow()
    let nothing = try await a.explain("none")
    #expect(nothing.standing == .unknown && nothing.generation == 0 && nothing.columns.isEmpty)
    let upgraded = try a.upgraded(schema, "INSERT INTO book (isbn) VALUES ('2')")
    #expect(try await upgraded.explain("2").standing == .unsynced)
    let again = try upgraded.upgraded(
      schema, "INSERT INTO book (isbn) VALUES ('2')", "DELETE FROM book WHERE isbn = '1'")
    let missing = try await again.explain()
    #expect(missing.standing == .missing && missing.generation == 1)
  }

  @Test func `an unknown table and a key of another width are refused by name`() async throws {
    let (a, _) = try pairWithRow()
    let table = await #expect(throws: RowLookupError.self) { try await a.explain(table: "shelf") }
    #expect(table?.code == .unknownTable && table?.description.contains("shelf") ?? false)
    for key: [SQLiteValue] in [[], ["1", "2"], [.null]] {
      let error = await #expect(throws: RowLookupError.self) {
        try await a.replica.explain("book", key: key)
      }
      #expect(error?.code == .wrongKey && error?.description.contains("isbn") ?? false)
      let history = await #expect(throws: RowLookupError.self) {
        try await a.replica.history("book", key: key)
      }
      #expect(history == error)
    }
    #expect(try await a.explain(table: "BOOK").table == "book")
  }

  @Test func `what is not sealed yet is told of with its author`() async throws {
    let (a, _) = try pairWithRow()
    try a.execute("UPDATE book SET title = 'now'")
    let title = try await a.explain().column("title")
    #expect(title.value == "now" && title.writes.first?.content == .value("now"))
    #expect(title.stamp?.isOwn == true && title.writes.first?.stamp == title.stamp)
  }

  @Test func `where nothing is noted it waits for nobody's write lock`() async throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "tern-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let path = folder.appending(path: "app.sqlite").path
    // Of two rows with one name the later is quarantined, and the lock is not taken to find its rival.
    let schema = SyncSchema(version: 1, tables: [SyncTable("label")])
    let creation = "CREATE TABLE label (id TEXT NOT NULL PRIMARY KEY, name TEXT UNIQUE)"
    let a = try Device(schema, id: 1, database: DatabasePool(path: path)) {
      try $0.execute(sql: creation)
    }
    let b = try Device(schema, id: 2) { try $0.execute(sql: creation) }
    try b.commit("INSERT INTO label VALUES ('1', 'new')")
    try a.commit("INSERT INTO label VALUES ('2', 'new')")
    try a.pull(from: b)
    var rows: [RowExplanation] = []
    for key in ["1", "2"] as [SQLiteValue] { rows.append(try await a.explain(key, table: "label")) }
    #expect(rows.count { $0.standing == .shown } == 1)
    let other = try locked(path)
    for key in ["1", "2"] as [SQLiteValue] {
      #expect(try await a.explain(key, table: "label") == rows.removeFirst())
    }
    try other.close()
  }

  @Test func `a limit keeps the newest writes and the one that stands`() async throws {
    let (a, _) = try pairWithRow()
    try a.commit("UPDATE book SET sure = 99")
    for value in 1...5 { try a.commit("UPDATE book SET sure = \(value)") }
    let row = try await a.replica.explain("book", key: ["1"], limit: 2)
    let sure = try row.column("sure")
    #expect(sure.writes.map(\.content) == [.value(5), .value(4), .value(99)])
    #expect(sure.writeCount == 7 && sure.writes.last?.outcome == .stands)
  }

  @Test func `after a restamp the new times are told, and the same write stands`() async throws {
    let (a, b) = try pairWithRow()
    try b.commit("UPDATE book SET title = 'b'")
    try a.pull(from: b)
    // In the same millisecond as b's it would have the time that it is given again.
    let last = try #require(try await a.explain().column("title").stamp)
    _ = try a.store.correctClock(nowMilliseconds: last.time.milliseconds + 3_600_000)
    try a.commit("UPDATE book SET title = 'a', scans = 9, sure = 6")
    let before = try await a.explain()
    let old = try #require(try before.column("title").stamp)
    let now = old.time.milliseconds - 3_600_000
    try a.store.restamp(after: 1, at: "peer", nowMilliseconds: now)
    let after = try await a.explain()
    for name in ["title", "scans", "sure"] {
      let (earlier, later) = (try before.column(name), try after.column(name))
      #expect(later.stamp?.time != old.time && later.value == earlier.value)
      #expect(later.writes.map(\.outcome) == earlier.writes.map(\.outcome))
      #expect(later.writes.first?.stamp == later.stamp)
    }
  }

  @Test func `the text for people names the authors and the reasons`() async throws {
    let (a, b) = try pairWithRow()
    try a.commit("UPDATE book SET title = 'from a'")
    try b.commit("UPDATE book SET title = 'from b'")
    try meet(a, b)
    let text = try await a.explain().description
    #expect(text.hasPrefix("book ['1']: shown, generation 1\n"))
    #expect(text.contains("title = 'from b', .lastWriter: by \(idB) at "))
    #expect(text.contains("'from a' by \(idA) (this replica) at "))
    #expect(text.contains("concurrent: beaten, by a later write"))
  }
}
