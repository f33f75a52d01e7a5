import GRDB
import Tern
import TestDevice
import Testing

@Suite("Inbox: rows without their deleted parents")
struct InboxVeilTests {
  private func entry(_ device: Device) throws -> InboxEntry {
    try #require(try device.entry(.veiled))
  }

  @Test func `an entry says whom the row is without, who deleted them, and what can be done`()
    throws
  {
    let (a, _) = try VeiledItems.met()
    let found = try entry(a)
    #expect(found.values["person"] == .string("ben"))
    #expect(found.rows.map(\.description) == ["person with id = 'ben'"])
    #expect(found.winner?.isOwn == false && found.loser?.isOwn == true)
    // Nothing is kept of the person that a restoring would bring back.
    #expect(found.actions == [.show, .discard, .dismiss])
    // What else is written to the row changes nothing of it.
    try a.commit("UPDATE item SET title = 'M'")
    #expect(try entry(a).id == found.id)
  }

  @Test func `show gives the row another person, for everybody`() throws {
    let (a, b) = try VeiledItems.met()
    try a.show(entry(a), with: [Column("person"): "ann"])
    try meetTwice(a, b)
    for device in [a, b] {
      #expect(try device.itemLines == ["milk Milk ann"] && device.inbox.isEmpty)
    }
    let (c, _) = try VeiledItems.met()
    let error = #expect(throws: InboxError.self) {
      try c.show(entry(c), with: [Column("person"): "nobody"])
    }
    #expect(error?.code == .parentDeleted)
    #expect(try c.itemLines == ["milk Milk -"] && c.inbox.count == 1)
  }

  @Test(arguments: [true, false])
  func `show without values keeps the row without a person, for everybody`(_ isNamed: Bool) throws {
    let (a, b) = try VeiledItems.met()
    try a.show(entry(a), with: isNamed ? [Column("person"): nil] : [:])
    try meetTwice(a, b)
    for device in [a, b] {
      #expect(try device.itemLines == ["milk Milk -"] && device.inbox.isEmpty)
    }
    try b.commit(VeiledItems.comeBack)
    try meetTwice(a, b)
    for device in [a, b] { #expect(try device.itemLines == ["milk Milk -"]) }
  }

  @Test func `restore brings the person back where they are kept, and says so where not`()
    async throws
  {
    let (a, b) = try VeiledItems.met(.updateWins)
    #expect(try entry(a).actions.contains(.restore))
    try await a.replica.restore(entry(a))
    try meetTwice(a, b)
    for device in [a, b] {
      #expect(try device.itemLines == ["milk Milk ben"] && device.inbox.isEmpty)
      #expect(try device.column("SELECT name FROM person WHERE id = 'ben'") == ["Ben"])
    }
    let (c, _) = try VeiledItems.met()
    let error = await #expect(throws: InboxError.self) {
      try await c.replica.restore(c.entry(.veiled)!)
    }
    #expect(error?.code == .parentDeleted)
    #expect(try c.itemLines == ["milk Milk -"] && c.inbox.count == 1)
  }

  @Test(arguments: [DeleteRule.deleteWins, .lastWriter])
  func `a deleted row is restored without a person who is deleted too`(_ deletes: DeleteRule)
    async throws
  {
    let (a, b) = try VeiledItems.pair(deletes)
    try a.commit("INSERT INTO item VALUES ('milk', 'Milk', 'high', 'ben')")
    try meetTwice(a, b)
    try delay(b, after: a)
    try a.commit("UPDATE item SET title = 'M', person = 'ben'")
    try b.commit("DELETE FROM item")
    try meetTwice(a, b)
    try b.commit("DELETE FROM person WHERE id = 'ben'")
    try meetTwice(a, b)
    let lost = try #require(try a.inbox.first { $0.kind == .deleteWins })
    try await a.replica.restore(lost)
    try meetTwice(a, b)
    for device in [a, b] {
      #expect(try device.column("SELECT title FROM item") == ["M"])
      #expect(try device.column("SELECT person FROM item") == [nil])
    }
    try expectEqual(a, b, "item", "person")
  }

  @Test func `discard deletes the row, and dismiss hides the entry`() async throws {
    let (a, b) = try VeiledItems.met()
    try await a.replica.dismiss(entry(a))
    #expect(try a.inbox.isEmpty && b.inbox.count == 1)
    try a.commit("UPDATE item SET title = 'M'")
    #expect(try a.inbox.isEmpty)
    try meetTwice(a, b)
    try b.discard(entry(b))
    try meetTwice(a, b)
    for device in [a, b] {
      #expect(try device.itemLines.isEmpty && device.inbox.isEmpty)
      #expect(try device.rows("SELECT * FROM note").isEmpty)
    }
  }

  @Test func `explain says that the row is shown without its person, and what it has`() async throws
  {
    let (a, _) = try VeiledItems.met()
    let row = try await a.replica.explain("item", key: ["milk"])
    guard case .veiled(let rows) = row.standing else {
      Issue.record("\(row.standing)")
      return
    }
    #expect(rows.map(\.description) == ["person with id = 'ben'"])
    #expect(row.columns.first { $0.name == "person" }?.value == .string("ben"))
    #expect("\(row)".contains("shown without person with id = 'ben'"))
  }
}
