import Rehearsals
import Tern
import TernTesting

extension ReplicaStoreConformance {
  func checkOrder() throws {
    let logs = try concurrentLogs()
    var reference: [CanonicalRow]?
    var generator = SeededGenerator(seed: 7)
    for order in logs.map(\.count).interleavings().rehearsed(oneOf: 5) {
      var next = [0, 0, 0]
      let operations = order.map { author in
        defer { next[author] += 1 }
        return logs[author][next[author]]
      }
      let receiver = try StoreUnderTest(self, 100)
      var pages: [Int] = []
      var rest = operations[...]
      while !rest.isEmpty {
        pages.append(Int.random(in: 1...rest.count, using: &generator))
        try receiver.merge(Array(rest.prefix(pages.last!)))
        rest = rest.dropFirst(pages.last!)
      }
      let state = try receiver.store.canonicalState()
      try require(
        .convergence, reference ?? state == state,
        "the authors' order \(order) in pages of \(pages) makes another state: "
          + StoreUnderTest.difference(reference ?? [], state))
      reference = state
    }
  }

  /// Three authors who insert, edit, count, delete and insert again, partly knowing each other's.
  private func concurrentLogs() throws -> [[SyncOperation]] {
    let (a, b, c) = (
      try StoreUnderTest(self, 1), try StoreUnderTest(self, 2), try StoreUnderTest(self, 3)
    )
    let first = try a.commit(
      .insert(["id": "1", "name": "a", "count": 5, "high": 1, "low": 1]),
      .insert(["id": "2", "name": "a", "note": "a"]), .insert(["id": "3", "count": 1]))
    try b.commit(
      .insert(["id": "1", "name": "b", "count": 7, "high": 1.0, "low": "b"]),
      .insert(["id": "4", "note": "b"]))
    try b.merge(first)
    try c.merge(first)
    try c.commit(
      .update(["id": "1", "note": "c", "count": 6, "high": "c"]), .delete(id: "2"),
      .update(["id": "3", "name": "c"]))
    try b.commit(
      .update(["id": "2", "name": "b"]), .delete(id: "3"), .update(["id": "1", "low": -1]))
    try a.pull(from: b)
    try a.commit(
      .insert(["id": "3", "name": "again", "count": 2]), .delete(id: "4"),
      .update(["id": "1", "count": 0, "name": "a2"]))
    try c.commit(.insert(["id": "2", "low": 0]), .update(["id": "3", "count": 9]))
    try a.commit(.update(["id": "1", "name": .null, "note": "a3", "high": 0.0, "low": -0.0]))
    return try [a, b, c].map { peer in
      try peer.all().filter { $0.envelope.replica == peer.id }
    }
  }
}

extension [Int] {
  /// Every order of authors that takes so many operations of each.
  fileprivate func interleavings() -> [[Int]] {
    if allSatisfy({ $0 == 0 }) { return [[]] }
    return indices.filter { self[$0] > 0 }.flatMap { author in
      var rest = self
      rest[author] -= 1
      return rest.interleavings().map { [author] + $0 }
    }
  }
}
