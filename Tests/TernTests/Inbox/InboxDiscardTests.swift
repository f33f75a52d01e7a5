import GRDB
import Tern
import TestDevice
import TestProcesses
import Testing

@Suite("Inbox: discarding rows that are kept out")
struct InboxDiscardTests {
  @Test(arguments: [DeleteRule.deleteWins, .updateWins, .lastWriter])
  func `a row goes for everybody, and with it what its children's keys declare`(_ rule: DeleteRule)
    async throws
  {
    let (a, b) = try Household.displaced(rule)
    let operations = try a.store.counts().operations
    try a.discard(try #require(try a.entry(.displaced)))
    #expect(try a.store.counts().operations == operations + 1)
    #expect(try a.inbox.isEmpty && a.store.counts().quarantined == 0)
    try meetTwice(a, b)
    for device in [a, b] {
      #expect(try device.column("SELECT id FROM tag") == ["1"])
      #expect(try device.inbox.isEmpty && device.store.counts().quarantined == 0)
      for (table, key) in [("tag", "2"), ("recipe", "r"), ("step", "s")] {
        let standing = try await device.replica.explain(table, key: [.string(key)]).standing
        guard case .deleted(let stamp) = standing else {
          Issue.record("\(table) is \(standing)")
          continue
        }
        #expect(stamp.author == ReplicaID(high: 0, low: 1))
      }
    }
    // Nothing waits for the place that the winner has.
    try b.commit("DELETE FROM tag")
    try meetTwice(a, b)
    #expect(try a.column("SELECT count(*) FROM tag") == ["0"])
    try expectEqual(a, b, "tag", "recipe", "step")
  }

  @Test(arguments: ["SET NULL", "SET DEFAULT"])
  func `children that may be without it are shown so, as writes`(_ action: String) async throws {
    let (a, b) = try Household.displaced(onDelete: action)
    try b.discard(try #require(try b.entry(.displaced)))
    try meetTwice(a, b)
    for device in [a, b] {
      #expect(
        try device.column("SELECT ifnull(tag, 'none') || cooked || body FROM recipe") == [
          "none3Boil"
        ])
      #expect(try device.column("SELECT text FROM step") == ["wait"])
      #expect(try device.inbox.isEmpty)
    }
    let recipe = try #require(try a.store.canonicalState().first { $0.key == ["r"] })
    #expect(recipe.cells["tag"]?.value == .null)
    try expectEqual(a, b, "recipe", "step")
  }

  @Test(arguments: ["NO ACTION", "RESTRICT"])
  func `children that may not be without it refuse the call, until they went`(_ action: String)
    async throws
  {
    let (a, b) = try Household.displaced(onDelete: action)
    let entry = try #require(try a.entry(.displaced))
    let error = #expect(throws: InboxError.self) { try a.discard(entry) }
    #expect(error?.code == .refused && error?.message.contains("['r'] in “recipe”") == true)
    #expect(try a.inbox.count == 3)
    try a.discard(try #require(try a.inbox.first { $0.table == "recipe" }))
    try a.discard(entry)
    try meetTwice(a, b)
    #expect(try a.inbox.isEmpty && b.inbox.isEmpty)
    try expectEqual(a, b, "recipe", "step")
  }

  @Test func `an orphan, what a table refuses, and its own row twice`() async throws {
    let (a, b) = (try Household.device(1), try Household.device(2))
    try a.commit("INSERT INTO tag (id, name) VALUES ('1', 'meals')")
    try meetTwice(a, b)
    try a.commit("DELETE FROM tag")
    try b.commit("INSERT INTO recipe (id, tag) VALUES ('r', '1')")
    try meetTwice(a, b)
    let entry = try #require(try a.entry(.orphaned))
    try a.discard(entry)
    let again = #expect(throws: InboxError.self) { try a.discard(entry) }
    #expect(again?.code == .missingEntry)
    try meetTwice(a, b)
    #expect(try b.inbox.isEmpty)
    try expectEqual(a, b, "tag", "recipe")
    // The parent comes back, and the child does not.
    try b.commit("INSERT INTO tag (id, name) VALUES ('1', 'again')")
    try meetTwice(a, b)
    #expect(try a.column("SELECT count(*) FROM recipe") == ["0"])
    let value = #expect(throws: InboxError.self) {
      try b.commit("UPDATE tag SET note = 'b'")
      try a.commit("UPDATE tag SET note = 'a'")
      try meetTwice(a, b)
      try a.discard(try #require(try a.inbox.first))
    }
    #expect(value?.message == "the entry is .lastWriter, and what can be done is: dismiss, restore")
  }

  @Test(arguments: [DeleteRule.updateWins, .lastWriter])
  func `what a delete rule revives comes back whole, with an entry`(_ rule: DeleteRule) async throws
  {
    let (a, b) = try Household.displaced(rule)
    let entry = try #require(try a.entry(.displaced))
    try await a.replica.dismiss(entry)
    let hidden = try await a.replica.inbox(of: [.displaced], withDismissed: true)
    try a.discard(try #require(hidden.first))
    try delay(b, after: a)
    // A change that the discard has not seen: of a row that is shown there under another name.
    try b.show(try #require(try b.entry(.displaced)), with: [Column("name"): "B"])
    try a.commit("UPDATE tag SET name = 'B' WHERE id = '1'")
    try meetTwice(a, b)
    for device in [a, b] {
      let entry = try #require(try device.entry(.displaced))
      #expect(entry.key == ["2"] && entry.values["note"] == "second" && entry.values["name"] == "B")
      #expect(try device.column("SELECT id FROM tag") == ["1"])
    }
    try expectEqual(a, b, "recipe", "step")
  }

  @Test func `in a transaction of the app's it is undone with that, and goes on with it`() throws {
    let (a, b) = try Household.displaced(.updateWins)
    let entry = try #require(try a.entry(.displaced))
    struct Stop: Error {}
    #expect(throws: Stop.self) {
      try a.database.write { db in
        try a.replica.discard(entry, in: db)
        throw Stop()
      }
    }
    #expect(try a.entry(.displaced) == entry)
    try a.database.write { db in
      try a.replica.discard(entry, in: db)
      try db.execute(sql: "UPDATE tag SET note = 'the only one'")
      #expect(throws: InboxError.self) { try a.replica.discard(entry, in: db) }
    }
    try meetTwice(a, b)
    #expect(try b.column("SELECT note FROM tag") == ["the only one"])
    #expect(try a.inbox.isEmpty && b.inbox.isEmpty)
    try expectEqual(a, b, "recipe", "step")
  }

  /// As the page shows it.
  @Test func `children move to the row that won, before the other is discarded`() throws {
    let (a, b) = try Household.displaced()
    try a.database.write { db in
      for entry in try a.replica.inbox(of: [.displaced], in: db) where entry.table == "tag" {
        let winner = try #require(entry.rows.first?.values.first)
        for recipe in try a.replica.inbox(of: [.parentMissing], in: db)
        where recipe.table == "recipe" && recipe.values["tag"] == entry.key[0] {
          try a.replica.show(recipe, with: [Column("tag"): winner], in: db)
        }
        try a.replica.discard(entry, in: db)
      }
    }
    try meetTwice(a, b)
    for device in [a, b] {
      #expect(try device.column("SELECT id FROM tag") == ["1"])
      #expect(try device.column("SELECT tag || title || cooked FROM recipe") == ["1Soup3"])
      #expect(try device.column("SELECT text FROM step") == ["wait"])
      #expect(try device.inbox.isEmpty)
    }
    try expectEqual(a, b, "recipe", "step")
  }

  @Test func `a key that was discarded can be inserted again, at once too`() throws {
    let (a, b) = try Household.displaced(.updateWins)
    let entry = try #require(try a.entry(.displaced))
    try a.database.write { db in
      try a.replica.discard(entry, in: db)
      try db.execute(sql: "INSERT INTO tag (id, name) VALUES ('2', 'New')")
    }
    try meetTwice(a, b)
    for device in [a, b] {
      #expect(try device.column("SELECT name FROM tag ORDER BY id") == ["meals", "New"])
    }
    try expectEqual(a, b, "recipe", "step")
  }

  @Test func `undo brings back what it can`() async throws {
    let (a, b) = try Household.displaced()
    try a.discard(try #require(try a.entry(.displaced)))
    _ = try await a.replica.undo()
    try meetTwice(a, b)
    try expectEqual(a, b, "recipe", "step")
    #expect(try a.replica.rowsOutOfSight() == [])
  }
}
