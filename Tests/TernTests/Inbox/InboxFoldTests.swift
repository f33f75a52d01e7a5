import GRDB
import Tern
import TestDevice
import TestProcesses
import Testing

@Suite("Inbox: rows that are folded")
struct InboxFoldTests {
  @Test func `the entry is equal on both devices, and goes as the row stands alone`() throws {
    let (a, b) = try Fold.devices()
    let entry = try #require(try a.entry(.folded))
    #expect(try a.inbox.map(\.id) == b.inbox.map(\.id))
    #expect(try a.inbox.map(\.values) == b.inbox.map(\.values))
    #expect(entry.key == ["2"] && entry.rows.map(\.values) == [["1"]])
    #expect(entry.values["name"] == "Meals" && entry.values["color"] == "blue")
    #expect(entry.actions == [.show, .discard, .dismiss])
    #expect(entry.loser?.author == ReplicaID(high: 0, low: 2))
    #expect(entry.winner?.author == ReplicaID(high: 0, low: 1))
    try b.commit("UPDATE tag SET name = 'dinner' WHERE id = '1'")
    try meetTwice(a, b)
    #expect(try a.inbox.isEmpty && b.inbox.isEmpty)
    try expectEqual(a, b, "tag", "use")
  }

  @Test func `a folded row is shown under another name, and that is one write`() throws {
    let (a, b) = try Fold.devices()
    let operations = try a.store.counts().operations
    try a.show(try #require(try a.entry(.folded)), with: [Column("NAME"): "lunch"])
    #expect(try a.tagLines == ["1 meals -", "2 lunch -"])
    #expect(try a.inbox.isEmpty && a.store.counts().operations == operations + 1)
    try meetTwice(a, b)
    #expect(try b.inbox.isEmpty)
    try expectEqual(a, b, "tag", "use")
  }

  @Test func `a discarded row goes for everybody, with its children, and the winner stays`() throws
  {
    let (a, b) = try Fold.devices()
    try a.discard(try #require(try a.entry(.folded)))
    try meetTwice(a, b)
    for device in [a, b] {
      #expect(try device.tagLines == ["1 meals -"])
      #expect(try device.column("SELECT count(*) FROM use") == ["0"])
      #expect(try device.inbox.isEmpty && device.store.counts().quarantined == 0)
    }
    try expectEqual(a, b, "tag", "use")
    try b.commit("DELETE FROM tag")
    try meetTwice(a, b)
    #expect(try a.tagLines.isEmpty)
  }

  @Test func `a dismissed entry is hidden here until its row has another winner`() async throws {
    let (a, b) = try Fold.devices()
    try await a.replica.dismiss(try #require(try a.entry(.folded)))
    #expect(try a.inbox.isEmpty && b.inbox.count == 1)
    try b.commit("UPDATE tag SET color = 'green' WHERE id = '1'")
    try meetTwice(a, b)
    #expect(try a.inbox.isEmpty)
    #expect(try await a.replica.inbox(withDismissed: true).map(\.isDismissed) == [true])
    try b.commit("UPDATE tag SET color = 'pink' WHERE id = '2'")
    try meetTwice(a, b)
    #expect(try a.inbox.map { $0.values["color"] } == ["pink"])
    #expect(try a.inbox.map(\.id) == b.inbox.map(\.id))
    #expect(try a.inbox.map(\.values) == b.inbox.map(\.values))
  }

  @Test func `a dismissed row that stood alone is listed when it is folded again`() async throws {
    let (a, b) = try Fold.devices()
    try await a.replica.dismiss(try #require(try a.entry(.folded)))
    try a.commit("UPDATE tag SET name = 'x' WHERE id = '1'")
    #expect(try a.tagLines == ["1 x -", "2 Meals -"])
    // It would take the name from the other, and that is refused.
    #expect(throws: DatabaseError.self) {
      try a.execute("UPDATE tag SET name = 'meals' WHERE id = '1'")
    }
    try b.commit("UPDATE tag SET color = 'grey' WHERE id = '1'")
    let c = try Fold.device(3)
    try c.pull(from: b)
    try delay(c, after: a)
    try c.commit(
      "UPDATE tag SET name = 'y' WHERE id = '1'; UPDATE tag SET name = 'meals' WHERE id = '1'")
    try meetTwice(a, c)
    #expect(try a.tagLines == c.tagLines)
    let folded = try a.inbox.filter { $0.kind == .folded }
    #expect(try folded.map(\.id) == c.inbox.filter { $0.kind == .folded }.map(\.id))
    #expect(folded.count == 1)
  }

  @Test func `restore is refused, and an entry of a row that changed too`() async throws {
    let (a, b) = try Fold.devices()
    let entry = try #require(try a.entry(.folded))
    let error = await #expect(throws: InboxError.self) { try await a.replica.restore(entry) }
    #expect(
      error?.message == "the entry is .folded, and what can be done is: discard, dismiss, show")
    try b.commit("DELETE FROM tag WHERE id = '1'")
    try meetTwice(a, b)
    #expect(throws: InboxError.self) { try a.discard(entry) }
    #expect(try a.tagLines == ["2 Meals -"])
  }

  @Test func `a name that lost is restored row by row, and the group is together again`() throws {
    let (a, b) = try Fold.devices()
    try a.commit("UPDATE tag SET name = 'lunch'")
    try delay(b, after: a)
    try b.commit("UPDATE tag SET name = 'dinner'")
    try meetTwice(a, b)
    #expect(try a.tagLines == ["1 dinner -", "2 dinner 1"])
    for device in [a, b] {
      let lost = try device.inbox.filter { $0.kind == .lastWriter }
      for entry in lost { try device.store.restore(entry) }
      if lost.isEmpty { continue }
      #expect(lost.count == 2)
      #expect(try device.tagLines == ["1 lunch -", "2 lunch 1"])
    }
    try meetTwice(a, b)
    #expect(try a.tagLines == ["1 lunch -", "2 lunch 1"])
    try expectEqual(a, b, "tag", "use")
  }

  @Test func `a group that a delete took is restored row by row`() throws {
    let (a, b) = try Fold.devices()
    try a.commit("UPDATE tag SET color = 'green'")
    try delay(b, after: a)
    try b.commit("DELETE FROM tag")
    try meetTwice(a, b)
    #expect(try a.tagLines.isEmpty && b.tagLines.isEmpty)
    let lost = try (a.inbox + b.inbox).filter { $0.kind == .deleteWins }
    #expect(Set(lost.map(\.key)) == [["1"], ["2"]])
    let device = try a.inbox.contains { $0.kind == .deleteWins } ? a : b
    for entry in try device.inbox where entry.kind == .deleteWins {
      try device.store.restore(entry)
    }
    #expect(try device.tagLines == ["1 meals -", "2 Meals 1"])
    try meetTwice(a, b)
    #expect(try a.tagLines == ["1 meals -", "2 Meals 1"])
    #expect(try a.column("SELECT color FROM tag") == ["green", "green"])
    try expectEqual(a, b, "tag", "use")
  }

  @Test func `explain, an inspection and the doctor say it of a file without the app`() throws {
    try withTemporaryFolder { folder in
      let path = "\(folder)/app.sqlite"
      let (a, _) = try Fold.devices(try DatabasePool(path: path))
      let row = try DatabaseFileRow(path: path, table: "tag", key: ["2"])
      let explanation = try row.explanation()
      #expect(
        explanation.standing == .folded(into: [.init(table: "tag", columns: ["id"], values: ["1"])])
      )
      #expect(explanation.description.contains("shown, and folded into tag with id = '1'"))
      let replica = try #require(try DatabaseFileInspection(path: path).replicas.first)
      #expect(replica.quarantined == [:])
      let file = try DatabaseQueue(path: path)
      #expect(try file.read { try DatabaseDiagnosis($0) }.findings.map { "\($0)" } == [])
      try file.write { try $0.execute(sql: "UPDATE tag SET sameAs = '7' WHERE id = '2'") }
      let damaged = try file.read { try DatabaseDiagnosis($0) }
      #expect(damaged.findings.map(\.check) == ["held-reason"])
      #expect(try a.inbox.count == 1)
    }
  }
}
