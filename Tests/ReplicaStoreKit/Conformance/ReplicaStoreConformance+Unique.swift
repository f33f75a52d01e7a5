import Tern
import TernTesting

extension ReplicaStoreConformance {
  func checkUnique() throws {
    let peers = try (1...4).map { try StoreUnderTest(self, $0) }
    let (a, b, c, courier) = (peers[0], peers[1], peers[2], peers[3])
    // What `later` writes next is later than all of `earlier`, whose rows it does not have.
    func delay(_ later: StoreUnderTest, after earlier: StoreUnderTest) throws {
      try courier.pull(from: earlier)
      try courier.commit(.replace(["id": "time"]))
      let known = try later.store.versionVector()[courier.id]
      try later.merge(
        courier.all().filter {
          $0.envelope.replica == courier.id && $0.envelope.sequence > known
        })
    }
    func expect(_ shown: Set<String>, _ what: String) throws {
      try peers.gather()
      for peer in peers {
        try peer.requireState(of: peers[0], what)
        try requireEqual(.convergence, try peer.shown(), shown, "the rows shown: \(what)")
        let state = try peer.store.canonicalState().filter { $0.table == "label" && $0.isPresent }
        try requireEqual(
          .operationsAreAtomic, try peer.store.counts().quarantined, state.count - shown.count,
          "the quarantined rows: \(what)")
      }
    }
    try a.commit(.insert(["id": "a", "name": "red", "slot": 1], table: "label"))
    try delay(b, after: a)
    try b.commit(.insert(["id": "b", "name": "red", "slot": 2], table: "label"))
    try delay(c, after: b)
    try c.commit(.insert(["id": "c", "name": "blue", "slot": 2], table: "label"))
    try expect(["a", "c"], "of rows that collide the one that was created first")
    // Of c the name, of b nothing that anybody else holds.
    try c.commit(.update(["id": "c", "slot": 3], table: "label"))
    try expect(["a", "c"], "a row that gave up what the row quarantined has lost already")
    try a.commit(.update(["id": "a", "name": "green"], table: "label"))
    try expect(["a", "b", "c"], "a change that frees a value")
    try b.commit(.update(["id": "b", "name": .null], table: "label"))
    try c.commit(.update(["id": "c", "name": .null, "slot": .null], table: "label"))
    try expect(["a", "b", "c"], "NULL never collides")
    try a.commit(.insert(["id": "d", "name": "teal"], table: "label"))
    try delay(b, after: a)
    try b.commit(.insert(["id": "e", "name": "teal", "note": "of e"], table: "label"))
    try expect(["a", "b", "c", "d"], "two more")
    try a.commit(.delete(id: "d", table: "label"))
    try expect(["a", "b", "c", "e"], "a delete that frees a value")
    try requireEqual(
      .intentSurvives, try c.value("e", "note"), "of e", "what a quarantined row had")
    // The writer does not see the row that is quarantined.
    try a.commit(.insert(["id": "f", "name": "pink", "note": 1], table: "label"))
    try delay(b, after: a)
    try b.commit(.insert(["id": "g", "name": "pink", "note": 2], table: "label"))
    try peers.gather()
    try a.commit(
      .delete(id: "f", table: "label"), .insert(["id": "h", "name": "pink"], table: "label"))
    try expect(
      ["a", "b", "c", "e", "g"], "a quarantined row is older than what was written over it")
    try b.commit(
      .insert(["id": "h", "name": "other"], table: "label"))
    try expect(["a", "b", "c", "e", "g", "h"], "the key of a quarantined row is written anew")
  }

  func checkSwapped() throws {
    let peers = try (1...2).map { try StoreUnderTest(self, $0) }
    try peers[0].commit(
      .insert(["id": "a", "name": "one"], table: "label"),
      .insert(["id": "b", "name": "two"], table: "label"),
      .insert(["id": "c", "name": "three"], table: "label"))
    try peers.gather()
    try peers[0].commit(
      .update(["id": "a", "name": .null], table: "label"),
      .update(["id": "b", "name": "one"], table: "label"),
      .update(["id": "c", "name": "two"], table: "label"),
      .update(["id": "a", "name": "three"], table: "label"))
    try peers.gather()
    for peer in peers {
      for (key, name) in [("a", "three"), ("b", "one"), ("c", "two")] {
        try requireEqual(
          .intentSurvives, try peer.value(.string(key), "name"), .string(name), "a rotation")
      }
      try requireEqual(.convergence, try peer.shown(), ["a", "b", "c"], "a rotation")
    }
  }

  func checkReplace() throws {
    for table in ["label", "keptLabel", "latestLabel"] {
      let peers = try (1...2).map { try StoreUnderTest(self, $0) }
      let (a, b) = (peers[0], peers[1])
      try a.commit(
        .insert(["id": "a", "name": "red", "slot": 1], table: table),
        .insert(["id": "b", "name": "blue", "slot": 2, "note": "kept"], table: table))
      try peers.gather()
      try b.commit(.replace(["id": "c", "name": "red", "slot": 2], table: table))
      try peers.gather()
      for peer in peers {
        try peer.requireState(of: a, "after a REPLACE that removed two rows")
        try requireEqual(
          .intentSurvives, try peer.shown(table), ["c"],
          "a REPLACE removes the rows that hold its values")
      }
      if table == "label" { continue }
      try b.commit(
        .delete(id: "c", table: table), .insert(["id": "b", "name": "new"], table: table))
      try peers.gather()
      for peer in peers {
        try requireEqual(
          .intentSurvives, try peer.row("b")?.cells["note"]?.value, .null,
          "a new row has nothing of the one that was replaced")
      }
    }
  }
}

extension StoreUnderTest {
  fileprivate func shown(_ table: String = "label") throws -> Set<String> {
    Set(
      try store.canonicalState().filter { $0.table == table && $0.isShown }
        .compactMap { $0.key[0].string })
  }
}

extension CanonicalRow {
  /// Not deleted: of tables that keep nothing of deleted rows.
  fileprivate var isPresent: Bool { life & 1 == 1 }
}
