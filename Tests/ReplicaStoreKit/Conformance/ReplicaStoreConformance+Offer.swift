import Tern
import TernTesting

extension ReplicaStoreConformance {
  /// Another remote may hold what one refuses, and other content under its number would be a second
  /// operation.
  func checkOffered() throws {
    let (a, b) = (try StoreUnderTest(self, 1), try StoreUnderTest(self, 2))
    for number in 1...3 {
      try a.commit(.insert(["id": .string("\(number)"), "name": "a", "count": 1]))
    }
    try a.offer(1, to: "another")
    // Lower than what it was offered before.
    try a.offer(0, to: "another")
    // The refusing one itself: what it was offered it did not take.
    try a.offer(3, to: StoreUnderTest.remoteID)
    let before = try a.all()
    let now = before.map(\.envelope.time.milliseconds).min()! - Self.hour
    try a.store.restamp(after: 0, at: StoreUnderTest.remoteID, nowMilliseconds: now)
    let after = try a.all()
    try requireEqual(.timesIncrease, after.first, before.first, "what another remote was offered")
    for (earlier, later) in zip(after, after.dropFirst()) {
      try requireEqual(
        .timesIncrease, later.envelope.time, earlier.envelope.time.next(atMilliseconds: now),
        "the time of what no other remote was offered")
    }
    try b.merge(after)
    try b.requireState(of: a, "after restamping behind an offer")

    try a.offer(3, to: "another")
    try a.store.restamp(after: 0, at: StoreUnderTest.remoteID, nowMilliseconds: now - Self.hour)
    try requireEqual(.timesIncrease, try a.all(), after, "operations that were all offered")
    try a.store.restamp(after: 0, at: "a third", nowMilliseconds: now - Self.hour)
    try requireEqual(.timesIncrease, try a.all(), after, "operations at a third remote")
  }

  /// A push can end within a group, whose fragments share their time.
  func checkOfferWithinGroup() throws {
    let a = try StoreUnderTest(self, 1)
    let text = SQLiteValue.string(String(repeating: "x", count: SyncOperation.Limit.fragmentBytes))
    let group = try a.commit((1...3).map { .insert(["id": .string("\($0)"), "note": text]) })
    try require(.operationsAreAtomic, group.count > 1, "three long rows made one operation")
    try a.commit(.insert(["id": "later", "name": "a"]))
    try a.offer(1, to: "another")
    let before = try a.all()
    let now = before[0].envelope.time.milliseconds - Self.hour
    try a.store.restamp(after: 0, at: StoreUnderTest.remoteID, nowMilliseconds: now)
    let after = try a.all()
    try requireEqual(
      .operationsAreAtomic, Array(after.prefix(group.count)), group, "a group that was half offered"
    )
    try after.requireIncreasing()
  }

  /// A remote that was wiped has nothing, and others may have what it had.
  func checkAccepted() throws {
    let a = try StoreUnderTest(self, 1)
    for number in 1...3 { try a.commit(.insert(["id": .string("\(number)"), "name": "a"])) }
    try a.offer(3, to: StoreUnderTest.remoteID)
    try a.store.noteAccepted(of: 2, by: StoreUnderTest.remoteID)
    // Less than what is known.
    try a.store.noteAccepted(of: 1, by: StoreUnderTest.remoteID)
    let before = try a.all()
    let now = before[0].envelope.time.milliseconds - Self.hour
    try a.store.restamp(after: 0, at: StoreUnderTest.remoteID, nowMilliseconds: now)
    let after = try a.all()
    try requireEqual(
      .timesIncrease, Array(after.prefix(2)), Array(before.prefix(2)), "what was accepted")
    try requireEqual(
      .timesIncrease, after[2].envelope.time, after[1].envelope.time.next(atMilliseconds: now),
      "the time of what was never accepted")
    try after.requireIncreasing()
  }
}

extension StoreUnderTest {
  /// As a push does that ends with the operation of that sequence number; 0 for one of nothing.
  fileprivate func offer(_ sequence: Int, to remoteID: String) throws {
    let operations = try all().prefix(sequence)
    let offered = try store.offer(
      lackedBy: sequence == 0 ? store.versionVector() : VersionVector(), repeating: [],
      maximumBytes: operations.reduce(0) { $0 + $1.bytes.count }, to: remoteID)
    try requireEqual(.acknowledgedIsStored, offered, Array(operations), "what is offered")
  }
}

extension [SyncOperation] {
  fileprivate func requireIncreasing() throws {
    for (earlier, later) in zip(self, dropFirst()) {
      let (first, second) = (earlier.envelope, later.envelope)
      try require(
        .timesIncrease,
        first.continues ? first.time == second.time : first.time < second.time,
        "operation \(second.sequence) is not later than the one before it")
    }
  }
}
