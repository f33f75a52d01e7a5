import Tern
import TernTesting

extension ReplicaStoreConformance {
  func checkUpdateWins() throws {
    let peers = try (1...3).map { try StoreUnderTest(self, $0) }
    let (a, b, c) = (peers[0], peers[1], peers[2])
    func expect(_ name: SQLiteValue?, _ count: SQLiteValue?, _ what: String) throws {
      try require(peers, "kept", ["name": name, "count": count], what)
    }
    try a.commit(
      .insert(["id": "k", "name": "A", "note": "n", "count": 5, "tags": #"["t"]"#], table: "kept"))
    try gather(peers)
    // The delete has seen a's insert, and not b's change.
    try a.commit(.delete(id: "k", table: "kept"))
    try b.commit(.update(["id": "k", "name": "B"], table: "kept"))
    try expect("B", 5, "a change that the delete had not seen")
    try require(
      peers, "kept", ["note": "n", "tags": #"["t"]"#], "the columns of a row that came back")
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
    try gather(peers)
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
    try gather(peers)
    var edit = try a.commit(.update(["id": "l", "name": "A2"], table: "latest"))
    var end = try b.commit(.delete(id: "l", table: "latest"))
    try require(
      peers, "latest",
      [
        "name": isLater(edit, than: end) ? "A2" : nil, "note": isLater(edit, than: end) ? "n" : nil,
      ],
      "a delete and a change")
    try c.commit(.delete(id: "l", table: "latest"))
    try require(peers, "latest", ["name": nil], "a delete that had seen everything")
    try c.commit(.insert(["id": "l", "name": "C", "note": "m", "high": 9], table: "latest"))
    try gather(peers)
    end = try b.commit(.delete(id: "l", table: "latest"))
    // Of no effect on its column.
    edit = try a.commit(.update(["id": "l", "high": 1], table: "latest"))
    let isBack = isLater(edit, than: end)
    try require(
      peers, "latest",
      ["name": isBack ? "C" : nil, "note": isBack ? "m" : nil, "high": isBack ? 9 : nil],
      "a delete and a change that lost its column")
  }

  /// Two stores' clocks can stand in one millisecond.
  private func isLater(_ edit: [SyncOperation], than end: [SyncOperation]) -> Bool {
    let (edit, end) = (edit[0].envelope, end[0].envelope)
    return (edit.time, edit.replica) > (end.time, end.replica)
  }

  /// Everybody gets everything, each in another order of authors.
  func gather(_ peers: [StoreUnderTest]) throws {
    for peer in peers { try peer.store.seal() }
    let logs = try peers.map { try $0.all() }
    for (index, peer) in peers.enumerated() {
      for log in logs[index...] + logs[..<index] {
        let known = try peer.store.versionVector()
        for author in peers.reversed() {
          try peer.merge(
            log.filter {
              $0.envelope.replica == author.id && $0.envelope.sequence > known[author.id]
            })
        }
      }
    }
  }

  /// After gathering, every peer shows these values of the one row of a table: `nil` for no row.
  private func require(
    _ peers: [StoreUnderTest], _ table: String, _ values: [String: SQLiteValue?], _ what: String
  ) throws {
    try gather(peers)
    for peer in peers {
      try peer.requireState(of: peers[0], what)
      let row = try peer.store.canonicalState().first { $0.table == table }
      for (column, value) in values {
        let shown = row.flatMap { $0.isShown ? $0.cells[column]?.value : nil }
        try requireEqual(.intentSurvives, shown, value, "\(column): \(what)")
      }
    }
  }
}
