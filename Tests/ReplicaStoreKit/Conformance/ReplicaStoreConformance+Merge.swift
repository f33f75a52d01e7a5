import Tern
import TernTesting

extension ReplicaStoreConformance {
  func checkRepeats() throws {
    let (a, b) = (try StoreUnderTest(self, 1), try StoreUnderTest(self, 2))
    let operations =
      try a.commit(.insert(["id": "1", "count": 3, "high": 1]))
      + a.commit(.update(["id": "1", "count": 5, "name": "A"]))
      + a.commit(.delete(id: "1")) + a.commit(.insert(["id": "1", "count": 2]))
    let summary = try b.merge(operations)
    try requireEqual(.convergence, summary.mergedOperations, 4, "merged operations")
    try requireEqual(.convergence, summary.repeatedOperations, 0, "repeated operations at first")
    try requireEqual(.convergence, summary.changedTables, ["item"], "changed tables")
    let once = try b.picture()
    let again = try b.merge(operations + operations)
    try requireEqual(.convergence, again.mergedOperations, 0, "operations merged again")
    try requireEqual(.convergence, again.repeatedOperations, 8, "repeated operations")
    try require(.convergence, try b.picture() == once, "merging again changed something")
    try requireEqual(.convergence, try a.store.canonicalState(), once.state, "the author's state")
    let own = try a.merge(operations)
    try requireEqual(.convergence, own.repeatedOperations, 4, "own operations that came back")
  }

  func checkGap() throws {
    let (a, b, c) = (
      try StoreUnderTest(self, 1), try StoreUnderTest(self, 2), try StoreUnderTest(self, 3)
    )
    let first = try a.commit(.insert(["id": "1", "name": "A"]))
    let second = try a.commit(.update(["id": "1", "name": "B"]))
    let third = try a.commit(.update(["id": "1", "name": "C"]))
    let other = try c.commit(.insert(["id": "2"]))
    try b.refuses(other + second, .operationsAreAtomic, "a first operation that was missing") {
      ($0 as? MergeError)?.code == .gap
    }
    try b.merge(first)
    try b.refuses(other + third, .operationsAreAtomic, "a missing operation in between") {
      ($0 as? MergeError)?.code == .gap
    }
    try b.merge(second + third + other)
    try requireEqual(.convergence, try b.value("1", "name"), "C", "the value after the gap closed")
  }

  func checkTimes() throws {
    let (a, b, c) = (
      try StoreUnderTest(self, 1), try StoreUnderTest(self, 2), try StoreUnderTest(self, 3)
    )
    let first = try a.commit(.insert(["id": "1"]))
    let other = try c.commit(.insert(["id": "2"]))
    try b.merge(first)
    for earlier: UInt64 in [0, 1] {
      var envelope = first[0].envelope
      envelope.sequence = 2
      envelope.time = HybridTime(rawValue: envelope.time.rawValue - earlier)
      let stale = SyncOperation(envelope, body: [])
      try b.refuses(other + [stale], .timesIncrease, "a time that did not increase") {
        ($0 as? MergeError)?.code == .timeNotIncreasing
      }
    }
  }

  func checkForeignOwn() throws {
    let (a, c) = (try StoreUnderTest(self, 1), try StoreUnderTest(self, 3))
    let first = try a.commit(.insert(["id": "1"]))
    let other = try c.commit(.insert(["id": "2"]))
    var envelope = first[0].envelope
    envelope.sequence = 2
    envelope.time = envelope.time.next(atMilliseconds: 0)
    let foreign = SyncOperation(envelope, body: [])
    try a.refuses(other + [foreign], .acknowledgedIsStored, "an own operation never made here") {
      ($0 as? MergeError)?.code == .foreignOwn
    }
  }

  func checkFragments() throws {
    let (a, b, c) = (
      try StoreUnderTest(self, 1), try StoreUnderTest(self, 2), try StoreUnderTest(self, 3)
    )
    var generator = SeededGenerator(seed: 1)
    let rows = (0..<600).map { number in
      let bytes = (0..<1000).map { _ in UInt8.random(in: 0...255, using: &generator) }
      return Change.insert(["id": .string("\(number)"), "name": .blob(bytes), "count": 1])
    }
    let group = try a.commit(rows)
    try require(.limitsHold, group.count > 2, "600 KB of rows made \(group.count) operations")
    try requireEqual(
      .operationsAreAtomic, group.map(\.envelope.continues),
      group.indices.map { $0 < group.count - 1 }, "which operations continue their group")
    try requireEqual(
      .operationsAreAtomic, Set(group.map(\.envelope.time)).count, 1, "times in one group")
    try require(
      .limitsHold, group.allSatisfy { $0.bytes.count < SyncOperation.Limit.fragmentBytes * 2 },
      "a fragment is far over its limit")
    let other = try c.commit(.insert(["id": "other"]))
    for operation in group.dropLast() {
      try b.merge([operation])
      try requireEqual(.operationsAreAtomic, try b.row("0"), nil, "a row of half a group")
      try requireEqual(
        .operationsAreAtomic, try b.store.versionVector()[a.id], 0, "merged of half a group")
    }
    try b.merge(other)
    var envelope = group.last!.envelope
    envelope.time = envelope.time.next(atMilliseconds: 0)
    try b.refuses(
      [SyncOperation(envelope, body: [])], .timesIncrease, "a fragment with another time"
    ) { ($0 as? MergeError)?.code == .timeNotIncreasing }
    try b.merge([group.last!])
    try requireEqual(
      .operationsAreAtomic, try b.store.versionVector()[a.id], UInt64(group.count), "a whole group")
    try requireEqual(.operationsAreAtomic, try b.store.canonicalState().count, 601, "its rows")
    try a.pull(from: c)
    try requireEqual(
      .convergence, try b.store.canonicalState(), try a.store.canonicalState(), "both states")
    let d = try StoreUnderTest(self, 4)
    try d.merge(b.all())
    try require(
      .convergence, try d.store.canonicalState() == a.store.canonicalState(),
      "a third store's state after all of them in one page")
  }
}
