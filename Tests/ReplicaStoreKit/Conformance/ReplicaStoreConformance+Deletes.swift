import Tern
import TernTesting

extension ReplicaStoreConformance {
  func checkUpdateWins() throws {
    let peers = try (1...3).map { try StoreUnderTest(self, $0) }
    let (a, b, c) = (peers[0], peers[1], peers[2])
    func expect(_ name: SQLiteValue?, _ count: SQLiteValue?, _ what: String) throws {
      try peers.require("kept", ["name": name, "count": count], what)
    }
    try a.commit(
      .insert(["id": "k", "name": "A", "note": "n", "count": 5, "tags": #"["t"]"#], table: "kept"))
    try peers.gather()
    // The delete has seen a's insert, and not b's change.
    try a.commit(.delete(id: "k", table: "kept"))
    try b.commit(.update(["id": "k", "name": "B"], table: "kept"))
    try expect("B", 5, "a change that the delete had not seen")
    try peers.require(
      "kept", ["note": "n", "tags": #"["t"]"#], "the columns of a row that came back")
    try c.commit(.delete(id: "k", table: "kept"))
    try expect(nil, nil, "a delete that had seen everything")
    // Two deletes have each seen another change, and neither has seen both.
    try a.commit(.insert(["id": "k", "name": "again", "count": 1], table: "kept"))
    try expect("again", 1, "a new row with the key of a deleted one")
    try a.commit(.update(["id": "k", "count": 3], table: "kept"))
    try a.commit(.delete(id: "k", table: "kept"))
    try b.commit(.update(["id": "k", "count": 11], table: "kept"))
    try b.commit(.delete(id: "k", table: "kept"))
    try expect(nil, nil, "two changes, each seen by a delete")
    // An increment that no column shows alone, and the last values before the delete.
    try c.commit(.insert(["id": "k", "name": "c", "count": 1], table: "kept"))
    try peers.gather()
    try b.commit(
      .update(["id": "k", "name": "last"], table: "kept"), .delete(id: "k", table: "kept"))
    try c.commit(.update(["id": "k", "count": 2], table: "kept"))
    try c.commit(.update(["id": "k", "count": 4], table: "kept"))
    try expect("last", 4, "what was written just before the delete")
  }

  func checkLastDelete() throws {
    let peers = try (1...3).map { try StoreUnderTest(self, $0) }
    let (a, b, c) = (peers[0], peers[1], peers[2])
    try a.commit(.insert(["id": "l", "name": "A", "note": "n", "high": 9], table: "latest"))
    try peers.gather()
    var edit = try a.commit(.update(["id": "l", "name": "A2"], table: "latest"))
    var end = try b.commit(.delete(id: "l", table: "latest"))
    try peers.require(
      "latest",
      [
        "name": edit.isLater(than: end) ? "A2" : nil, "note": edit.isLater(than: end) ? "n" : nil,
      ],
      "a delete and a change")
    try c.commit(.delete(id: "l", table: "latest"))
    try peers.require("latest", ["name": nil], "a delete that had seen everything")
    try c.commit(.insert(["id": "l", "name": "C", "note": "m", "high": 9], table: "latest"))
    try peers.gather()
    end = try b.commit(.delete(id: "l", table: "latest"))
    // Of no effect on its column.
    edit = try a.commit(.update(["id": "l", "high": 1], table: "latest"))
    let isBack = edit.isLater(than: end)
    try peers.require(
      "latest",
      ["name": isBack ? "C" : nil, "note": isBack ? "m" : nil, "high": isBack ? 9 : nil],
      "a delete and a change that lost its column")
  }
}

extension [StoreUnderTest] {
  /// Everybody gets everything, each in another order of authors.
  func gather() throws {
    for peer in self { try peer.store.seal() }
    let logs = try map { try $0.all() }
    for (index, peer) in enumerated() {
      for log in logs[index...] + logs[..<index] {
        let known = try peer.store.versionVector()
        for author in reversed() {
          try peer.merge(
            log.filter {
              $0.envelope.replica == author.id && $0.envelope.sequence > known[author.id]
            })
        }
      }
    }
  }

  /// After gathering, every peer shows these values of the one row of a table: `nil` for no row.
  fileprivate func require(
    _ table: String, _ values: [String: SQLiteValue?], _ what: String
  ) throws {
    try gather()
    for peer in self {
      try peer.requireState(of: self[0], what)
      let row = try peer.store.canonicalState().first { $0.table == table }
      for (column, value) in values {
        let shown = row.flatMap { $0.isShown ? $0.cells[column]?.value : nil }
        try requireEqual(.intentSurvives, shown, value, "\(column): \(what)")
      }
    }
  }
}

extension [SyncOperation] {
  /// Two stores' clocks can stand in one millisecond.
  fileprivate func isLater(than end: [SyncOperation]) -> Bool {
    let (edit, end) = (self[0].envelope, end[0].envelope)
    return (edit.time, edit.replica) > (end.time, end.replica)
  }
}
