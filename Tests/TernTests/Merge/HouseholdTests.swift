import GRDB
import Tern
import TernTesting
import TestDevice
import Testing

/// Three devices of one household, and what each person sees after each stage.
private struct Home {
  enum Way: CaseIterable { case pairs, remote }

  static let orders = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]]

  let devices: [Device]
  let way: Way
  let order: [Int]

  var ann: Device { devices[0] }
  var ben: Device { devices[1] }
  var tablet: Device { devices[2] }

  init(_ way: Way, _ order: [Int]) throws {
    let remote = MemoryRemote()
    devices = try (1...3).map { try .ofHousehold($0, remotes: [remote]) }
    (self.way, self.order) = (way, order)
  }

  /// Each writes later than those before it.
  func write(_ changes: [(Device, String)]) throws {
    for (index, (device, sql)) in changes.enumerated() {
      if index > 0 { try delay(device, after: changes[index - 1].0) }
      try device.commit(sql)
    }
  }

  func sync() async throws {
    let pairs = [(ann, ben), (ann, tablet), (ben, tablet)]
    for _ in 0..<3 {
      for index in order {
        switch way {
        case .pairs: try meet(pairs[index].0, pairs[index].1)
        case .remote: try await devices[index].syncOnce()
        }
      }
    }
  }

  /// Syncs, and holds what each sees against a text.
  func expect(_ text: String) async throws {
    try await sync()
    let operations = try devices.map { try $0.store.counts().operations }
    for device in devices {
      let seen = try device.household
      #expect(seen == text, "\(seen)")
      let search = try device.householdSearch
      #expect(search.kept == search.rebuilt && !search.kept.isEmpty)
      #expect(try device.replica.rowsOutOfSight().isEmpty)
      #expect(try device.replica.entriesOfState() == ann.replica.entriesOfState())
      try expectEqual(device, ann, "person", "list", "item", "tag", "itemTag")
    }
    try await sync()
    #expect(try devices.map { try $0.store.counts().operations } == operations)
  }
}

/// What each has before the first sync.
private func fill(_ home: Home) throws {
  try home.write([
    (
      home.tablet,
      """
      INSERT INTO list VALUES ('t1', 'Groceries', 1), ('t2', 'Packing', 0);
      INSERT INTO item (id, list, title) VALUES ('t-old', 't1', 'Salt'), ('t-pass', 't2', 'Passport');
      INSERT INTO reminder (item, time) VALUES ('t-pass', '08:00')
      """
    ),
    (
      home.ann,
      """
      INSERT INTO person VALUES ('ann@home', 'Ann'), ('ben@home', 'Ben');
      INSERT INTO list VALUES ('a1', 'Groceries', 0);
      INSERT INTO item (id, list, title, person) VALUES
        ('a-milk', 'a1', 'Milk', 'ann@home'), ('a-bread', 'a1', 'Bread', 'ben@home');
      INSERT INTO tag (id, name) VALUES ('a-dairy', 'dairy'), ('a-urgent', 'urgent');
      INSERT INTO itemTag VALUES ('a-milk', 'a-dairy'), ('a-milk', 'a-urgent')
      """
    ),
    (
      home.ben,
      """
      INSERT INTO person VALUES ('ben@home', 'Ben');
      INSERT INTO list VALUES ('b1', 'groceries', 0), ('b2', 'Party', 0);
      INSERT INTO item (id, list, title, person) VALUES
        ('b-cheese', 'b1', 'Cheese', 'ben@home'), ('b-cake', 'b2', 'Cake', NULL);
      INSERT INTO tag (id, name) VALUES ('b-dairy', 'Dairy'), ('b-party', 'party');
      INSERT INTO itemTag VALUES
        ('b-cheese', 'b-dairy'), ('b-cake', 'b-dairy'), ('b-cake', 'b-party')
      """
    ),
    (
      home.tablet,
      """
      INSERT INTO tag (id, name) VALUES ('t-urgent', 'Urgent');
      INSERT INTO itemTag VALUES ('t-pass', 't-urgent')
      """
    ),
  ])
}

/// Weeks later, each without a network.
private func edit(_ home: Home) throws {
  try home.ann.database.write { db in
    let dairy = try Tag.shown.filter(Tag.Columns.name == "dairy").fetchOne(db)
    try #require(dairy).rename(to: "milk products", in: db)
    try ItemTag(item: "a-bread", tag: "b-party").insert(db)
    try db.execute(
      sql: """
        UPDATE item SET person = 'ben@home' WHERE id = 'a-milk';
        UPDATE item SET title = 'Rye bread' WHERE id = 'a-bread'
        """)
  }
  try delay(home.ben, after: home.ann)
  try home.ben.database.write { db in
    try Item(id: "b-butter", list: "a1", title: "Butter").insert(db)
    try ItemTag(item: "b-butter", tag: tag(named: "DAIRY", in: db).id).insert(db)
    let party = try Tag.shown.filter(Tag.Columns.name == "party").fetchOne(db)
    try #require(party).deleteAll(in: db)
    try db.execute(sql: "UPDATE list SET name = 'Holiday' WHERE id = 't2'")
  }
  try delay(home.tablet, after: home.ben)
  try home.tablet.commit(
    """
    UPDATE list SET deleted = 1 WHERE id = 't2';
    DELETE FROM person WHERE email = 'ben@home';
    UPDATE tag SET name = 'today' WHERE id = 'a-urgent'
    """)
}

/// What each sees, stage by stage.
extension Home {
  /// One tag each of dairy and urgent. Ben's list waits with its item: Ann's has its name.
  func expectFirstSync() async throws {
    try await expect(
      """
      Groceries
        Bread (Ben)
        Milk (Ann) #dairy #urgent
      Packing
        Passport #urgent
      Party
        Cake #dairy #party
      Tags: dairy, party, urgent
      Inbox:
        displaced list groceries, see list 'a1'
        folded tag Dairy, see tag 'a-dairy'
        folded tag Urgent, see tag 'a-urgent'
        parentMissing item Cheese, see list 'b1'
        parentMissing itemTag b-cheese b-dairy, see item 'b-cheese'
      """)
  }

  /// Ben moves the item of his list to Ann's, and lets the list go.
  func joinTheLists() async throws {
    let list = try #require(try ben.entry(.displaced))
    try await ben.replica.write { [replica = ben.replica] in try joinLists(list, replica, in: $0) }
    try await expect(
      """
      Groceries
        Bread (Ben)
        Cheese (Ben) #dairy
        Milk (Ann) #dairy #urgent
      Packing
        Passport #urgent
      Party
        Cake #dairy #party
      Tags: dairy, party, urgent
      Inbox:
        folded tag Dairy, see tag 'a-dairy'
        folded tag Urgent, see tag 'a-urgent'
      """)
  }

  /// The group was renamed whole, and Ben's new item is in it. Only one “urgent” was renamed, so the
  /// other stands again. Milk was given to Ben as he was deleted, and bread to the party's tag.
  func expectEdits() async throws {
    try await expect(
      """
      Groceries
        Butter #milk products
        Cheese #milk products
        Milk #milk products #today
        Rye bread
      Party
        Cake #milk products
      Tags: milk products, today, Urgent
      Inbox:
        folded tag milk products, see tag 'a-dairy'
        orphaned itemTag a-bread b-party, see tag 'b-party'
        veiled item Milk, see person 'ben@home'
      """)
  }

  /// Ann takes milk back without Ben, gives up the tag of the bread, and undeletes a list.
  func settleTheInbox() async throws {
    for entry in try ann.inbox {
      switch entry.kind {
      case .veiled: try ann.show(entry)
      case .orphaned: try ann.discard(entry)
      default: continue
      }
    }
    try ann.commit("UPDATE list SET deleted = 0 WHERE id = 't2'")
    try await expect(
      """
      Groceries
        Butter #milk products
        Cheese #milk products
        Milk #milk products #today
        Rye bread
      Holiday
        Passport #Urgent
      Party
        Cake #milk products
      Tags: milk products, today, Urgent
      Inbox:
        folded tag milk products, see tag 'a-dairy'
      """)
  }
}

@Suite("Merge: a household of three devices")
struct HouseholdTests {
  @Test(arguments: Home.Way.allCases, Home.orders)
  fileprivate func `what a person sees is the same on each device, in every order`(
    _ way: Home.Way, _ order: [Int]
  ) async throws {
    let home = try Home(way, order)
    try fill(home)
    try await home.expectFirstSync()
    try await home.joinTheLists()
    try edit(home)
    try await home.expectEdits()
    try await home.settleTheInbox()
    #expect(try home.tablet.column("SELECT item FROM reminder") == ["t-pass"])
  }

  @Test func `a folded row's record is saved as it is, and REPLACE of it deletes the winner`()
    async throws
  {
    let home = try Home(.pairs, [0, 1, 2])
    try fill(home)
    let stale = try await home.ben.database.read { try Tag.fetchOne($0, key: "b-dairy") }
    try await home.sync()
    let device = home.ben
    try await device.database.write { try #require(stale).save($0) }
    try device.store.seal()
    #expect(try device.column("SELECT sameAs FROM tag WHERE id = 'b-dairy'") == ["a-dairy"])
    let items = try await device.database.read { db in
      let tag = try #require(try Tag.fetchOne(db, key: "a-dairy"))
      return try tag.request(for: Tag.items).fetchAll(db).map(\.id).sorted()
    }
    #expect(items == ["a-milk", "b-cake"])
    // With the pointer as it was before the merge.
    #expect(throws: DatabaseError.self) {
      try device.execute("UPDATE tag SET name = 'dairy', sameAs = NULL WHERE id = 'b-dairy'")
    }
    try device.commit("INSERT OR REPLACE INTO tag (id, name) VALUES ('b-dairy', 'dairy')")
    try await home.sync()
    #expect(try home.ann.column("SELECT id FROM tag WHERE name = 'dairy'") == ["b-dairy"])
  }

  @Test func `a tag that was read before the merge names its group, and is joined with another`()
    async throws
  {
    let home = try Home(.pairs, [0, 1, 2])
    try fill(home)
    let stale = try await home.ben.database.read { try Tag.fetchOne($0, key: "b-dairy") }
    let dairy = try #require(stale)
    try await home.sync()
    try await home.ben.database.write { db in
      #expect(try dairy.request(for: Tag.items).fetchCount(db) == 0)
      #expect(try dairy.current.fetchAll(db).map(\.id) == ["a-dairy"])
      // Milk has Ann's row of the two.
      #expect(try !ItemTag(item: "a-milk", tag: dairy.id).delete(db))
      try dairy.remove(from: #require(try Item.fetchOne(db, key: "a-milk")), in: db)
      let party = try #require(try Tag.fetchOne(db, key: "b-party"))
      #expect(throws: DatabaseError.self) { try party.rename(to: "Dairy", in: db) }
      try party.join(dairy, in: db)
    }
    try await home.expect(
      """
      Groceries
        Bread (Ben)
        Milk (Ann) #urgent
      Packing
        Passport #urgent
      Party
        Cake #dairy
      Tags: dairy, urgent
      Inbox:
        displaced list groceries, see list 'a1'
        folded tag Dairy, see tag 'a-dairy'
        folded tag Urgent, see tag 'a-urgent'
        folded tag dairy, see tag 'a-dairy'
        parentMissing item Cheese, see list 'b1'
        parentMissing itemTag b-cheese b-dairy, see item 'b-cheese'
      """)
    // Whichever of the rows is the winner by then.
    try await home.ann.replica.write { db in
      let urgent = try #require(try Tag.fetchOne(db, key: "t-urgent"))
      try dairy.join(urgent, in: db)
      #expect(try Tag.shown.fetchCount(db) == 1)
    }
    try await home.sync()
    for device in home.devices {
      let items = try await device.database.read { db in
        let tag = try Tag.shown.fetchOne(db)
        #expect(tag?.name == "urgent")
        return try tag?.request(for: Tag.items).fetchAll(db).map(\.title).sorted()
      }
      #expect(items == ["Cake", "Milk", "Passport"])
    }
  }

  /// Its item is in no table meanwhile, so that `foreign_key_check` and the doctor name it.
  @Test func `a local row of an item that is kept out waits for it`() async throws {
    let home = try Home(.pairs, [0, 1, 2])
    try fill(home)
    try home.ben.execute("INSERT INTO reminder (item, time) VALUES ('b-cheese', '18:00')")
    try await home.sync()
    let device = home.ben
    #expect(try device.rows("PRAGMA foreign_key_check").count == 1)
    let list = try #require(try device.entry(.displaced))
    try await device.replica.write { try joinLists(list, device.replica, in: $0) }
    #expect(try device.column("SELECT item FROM reminder") == ["b-cheese"])
    #expect(try device.rows("PRAGMA foreign_key_check").isEmpty)
  }
}
