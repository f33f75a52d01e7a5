import GRDB
import Tern
import TestDevice
import TestProcesses
import Testing

@Suite("Inbox: dismissing entries")
struct InboxDismissTests {
  @Test
  func
    `a row stays dismissed here, over merges, openings and migrations, until it says something else`()
    async throws
  {
    let (first, b) = try Household.displaced()
    try await first.replica.dismiss(try #require(try first.entry(.displaced)))
    #expect(try first.inbox.count == 2 && b.inbox.count == 3)
    try b.commit("INSERT INTO tag (id, name) VALUES ('3', 'else')")
    try meetTwice(first, b)
    let a = try Device(
      first.database, Household.schema(version: 2), id: 99,
      migrator: .steps(["ALTER TABLE step ADD COLUMN done"]))
    #expect(try a.entry(.displaced) == nil)
    let error = #expect(throws: InboxError.self) {
      try a.discard(try #require(try b.entry(.displaced)))
    }
    #expect(error?.code == .missingEntry)
    #expect(try a.replica.rowsOutOfSight() == ["tag ['2']"])
  }

  @Test func `a row that was shown in between is listed when it is kept out again`() async throws {
    let (a, b) = try Household.displaced()
    let c = try Household.device(3)
    try c.pull(from: a)
    let entry = try #require(try a.entry(.displaced))
    try await a.replica.dismiss(entry)
    try b.commit("UPDATE tag SET name = 'x' WHERE id = '1'")
    try meetTwice(a, b)
    #expect(try a.column("SELECT name FROM tag ORDER BY id") == ["x", "Meals"])
    try delay(c, after: b)
    try c.commit(
      "UPDATE tag SET name = 'y' WHERE id = '1'; UPDATE tag SET name = 'meals' WHERE id = '1'")
    try meetTwice(a, c)
    // It says the same as before.
    let again = try a.entry(.displaced)
    #expect(again?.id == entry.id, "\(String(describing: again)) and \(entry)")
    try meetTwice(a, c)
    try expectEqual(a, c, "recipe", "step")
  }

  @Test func `an entry comes back when what it hides changes, or what is in the way`() async throws
  {
    let (zero, a, b) = (
      try Household.device(3), try Household.device(1), try Household.device(2)
    )
    try zero.commit("INSERT INTO tag (id, name) VALUES ('0', 'MEALS')")
    try delay(a, after: zero)
    try a.commit("INSERT INTO tag (id, name) VALUES ('1', 'meals')")
    try delay(b, after: a)
    try b.commit("INSERT INTO tag (id, name, note) VALUES ('2', 'Meals', 'second')")
    let c = try Household.device(4)
    try c.pull(from: b)
    try meetTwice(a, b)
    func dismiss() async throws {
      for entry in try a.inbox { try await a.replica.dismiss(entry) }
      #expect(try a.inbox.isEmpty)
    }
    try await dismiss()
    // Shown there, it is edited.
    try c.commit("UPDATE tag SET note = 'edited'")
    try a.pull(from: c)
    #expect(try a.inbox.map { $0.values["note"] } == ["edited"])
    try await dismiss()
    try meetTwice(a, zero)
    #expect(try a.listedEntries == ["displaced tag ['1']", "displaced tag ['2']"])
    #expect(try a.inbox.allSatisfy { $0.rows.first?.values == ["0"] })
    for _ in 0..<2 {
      try meetTwice(a, b)
      try meetTwice(a, zero)
    }
    try expectEqual(a, zero, "recipe", "step")
  }

  @Test func `all that was dismissed can be listed again, values that lost too`() async throws {
    let (a, b) = try Household.displaced()
    try a.commit("UPDATE tag SET note = 'a' WHERE id = '1'")
    try b.commit("UPDATE tag SET note = 'b' WHERE id = '1'")
    try meetTwice(a, b)
    let all = try a.inbox
    #expect(all.count == 4)
    for entry in all {
      try await a.replica.dismiss(entry)
      let error = await #expect(throws: InboxError.self) { try await a.replica.dismiss(entry) }
      #expect(error?.code == .missingEntry)
    }
    #expect(try a.inbox.isEmpty)
    #expect(try await a.replica.inbox(limit: 2).isEmpty)
    let hidden = try await a.replica.inbox(withDismissed: true)
    #expect(hidden.map(\.id) == all.map(\.id) && hidden.allSatisfy(\.isDismissed))
    #expect(try await a.replica.inbox(after: hidden[0], limit: 2, withDismissed: true).count == 2)
    for entry in hidden {
      for isDismissed in [true, false] {
        try await a.replica.dismiss(entry, isDismissed: isDismissed)
      }
    }
    #expect(try a.inbox == all)
    try await a.replica.restore(all[0])
    #expect(try a.inbox == Array(all.dropFirst()))
  }

  @Test func `a value's dismissal goes with it, as its id is given again`() async throws {
    let (a, b) = try Household.displaced()
    func collide(_ text: String) throws {
      try a.commit("UPDATE tag SET note = 'a\(text)' WHERE id = '1'")
      try b.commit("UPDATE tag SET note = 'b\(text)' WHERE id = '1'")
      try meetTwice(a, b)
    }
    try collide("0")
    try await a.replica.dismiss(try #require(try a.entry(.lastWriter)))
    let hidden = try await a.replica.inbox(of: [.lastWriter], withDismissed: true)
    try await a.replica.restore(hidden[0])
    try meetTwice(a, b)
    try collide("1")
    #expect(try a.entry(.lastWriter)?.id == hidden[0].id)
    try await a.replica.dismiss(try #require(try a.entry(.lastWriter)))
    try a.execute("UPDATE grdb_tern_main_inbox SET found_ms = 0")
    try collide("2")
    #expect(try a.entry(.lastWriter) != nil)
    #expect(try a.column("SELECT count(*) FROM grdb_tern_main_dismissed") == ["0"])
  }

  @Test func `an observation is told, and the limits of a small inbox hold`() async throws {
    let (a, b) = try Household.displaced()
    let observation = ValueObservation.tracking { db in try a.replica.inbox(in: db).count }
    var counts = observation.values(in: a.database).makeAsyncIterator()
    #expect(try await counts.next() == 3)
    try await a.replica.dismiss(try #require(try a.entry(.displaced)))
    try await expectNext(2, &counts)
    let hidden = try await a.replica.inbox(withDismissed: true).first { $0.isDismissed }
    try await a.replica.dismiss(try #require(hidden), isDismissed: false)
    try await expectNext(3, &counts)
    // Rows that are kept out are no values that lost.
    let none = try Device(
      b.database, Household.schema(), id: 2, inbox: InboxLimits(entries: 0))
    #expect(try none.inbox.count == 3)
  }
}
