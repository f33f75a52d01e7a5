import Tern
import TernTesting

extension ReplicaStoreConformance {
  static let hour: Int64 = 3_600_000
  /// How far two readings of one wall clock may lie apart in a scenario.
  static let slack: Int64 = 60_000

  func checkRestamp() throws {
    let (a, b) = (try StoreUnderTest(self, 1), try StoreUnderTest(self, 2))
    let kept = try a.commit(.insert(["id": "1", "name": "A", "count": 1]))
    try b.pull(from: a)
    try b.commit(.update(["id": "1", "note": "B", "high": 2]))
    try a.pull(from: b)
    try a.commit(
      .update(["id": "1", "name": "A2", "note": "A2", "count": 4, "high": 3]),
      .insert(["id": "2"]))
    try a.commit(.update(["id": "2", "low": 1]), .delete(id: "1"))
    try a.commit(.insert(["id": "1", "name": "A3", "count": 2]))
    let (before, values) = (try a.all(), try a.shownValues())
    // Everything is an hour ahead of the remote.
    let now = before.map(\.envelope.time.milliseconds).min()! - Self.hour
    try a.store.restamp(after: 1, at: StoreUnderTest.remoteID, nowMilliseconds: now)
    let own = try a.all().filter { $0.envelope.replica == a.id }
    try requireEqual(.acknowledgedIsStored, own.first, kept.first, "an accepted operation")
    for (earlier, later) in zip(own, own.dropFirst()) {
      try require(
        .timesIncrease, earlier.envelope.time < later.envelope.time,
        "restamped times do not increase at \(later.envelope.sequence)")
      try require(
        .timesIncrease, later.envelope.time >= HybridTime(milliseconds: now),
        "operation \(later.envelope.sequence) was not given a time after the remote's clock")
    }
    try requireEqual(.intentSurvives, try a.shownValues(), values, "values after a restamp")
    let c = try StoreUnderTest(self, 3)
    try c.merge(a.all())
    try b.pull(from: a)
    for peer in [b, c] {
      try peer.requireState(of: a, "of a replica that only knows the new times")
    }
    let next = try a.commit(.update(["id": "1", "name": "A4"]))
    try require(
      .timesIncrease, next[0].envelope.time > own.last!.envelope.time,
      "the first operation after a restamp is not later")
    try a.store.restamp(
      after: next[0].envelope.sequence, at: StoreUnderTest.remoteID, nowMilliseconds: now)
    try requireEqual(
      .acknowledgedIsStored, try a.all().last { $0.envelope.replica == a.id }, next.last,
      "the newest operation after a restamp of nothing")
  }

  func checkRestampedLoser() throws {
    let (a, b) = (try StoreUnderTest(self, 1), try StoreUnderTest(self, 2))
    try a.commit(.insert(["id": "1", "name": "A", "high": 3]))
    // The same clock, so what is committed later has the later time.
    try b.commit(.insert(["id": "1", "name": "B", "high": 3]))
    try b.commit(.update(["id": "1", "name": "B2"]))
    try a.pull(from: b)
    let before = try a.all()
    try a.store.restamp(
      after: 0, at: StoreUnderTest.remoteID,
      nowMilliseconds: before.map(\.envelope.time.milliseconds).max()!)
    try requireEqual(
      .convergence, try a.all(), before, "operations that are not ahead and may have lost")
    // The remote's clock may have been ahead when it took those of others.
    let behind = before.map(\.envelope.time.milliseconds).min()! - Self.hour
    try a.store.restamp(after: 0, at: StoreUnderTest.remoteID, nowMilliseconds: behind)
    try requireEqual(
      .convergence, try a.all(), before, "operations that are ahead and may have lost")
    try a.commit(.update(["id": "1", "name": "A2"]))
    try a.store.restamp(after: 0, at: StoreUnderTest.remoteID, nowMilliseconds: behind)
    let c = try StoreUnderTest(self, 3)
    try c.merge(a.all())
    try c.requireState(of: a, "where a write that had lost kept its time")
  }

  func checkClock() throws {
    let a = try StoreUnderTest(self, 1)
    let wall = -(try a.store.correctClock(nowMilliseconds: 0))
    _ = try a.store.correctClock(nowMilliseconds: wall)
    func timeOfWrite(_ key: SQLiteValue) throws -> Int64 {
      try a.commit(.insert(["id": key]))[0].envelope.time.milliseconds
    }
    func requireNear(_ value: Int64, _ expected: Int64, _ what: String) throws {
      try require(
        .timesIncrease, abs(value - expected) < Self.slack,
        "\(what) is \(value - expected) ms off")
    }
    try requireNear(try timeOfWrite("1"), wall, "a time under a right clock")
    let small = try a.store.correctClock(nowMilliseconds: wall + 4 * 60_000)
    try requireNear(small, 4 * 60_000, "the measured offset")
    try requireNear(try timeOfWrite("2"), wall, "a time under a clock that is slightly off")
    try a.subject.write([.insert(["id": "noted before"])])
    let large = try a.store.correctClock(nowMilliseconds: wall + Self.hour)
    try requireNear(large, Self.hour, "the measured offset")
    try requireNear(
      try a.row("noted before")?.time.milliseconds ?? 0, wall, "a time noted before a correction")
    try requireNear(try timeOfWrite("3"), wall + Self.hour, "a corrected time")
    try requireNear(
      try a.store.correctClock(nowMilliseconds: wall), 0, "the offset of a clock that was put right"
    )
    try requireNear(
      try timeOfWrite("4"), wall + Self.hour, "a time after an hour's correction was taken back")
    let times = try a.all().map(\.envelope.time)
    try require(
      .timesIncrease, zip(times, times.dropFirst()).allSatisfy { $0 < $1 },
      "times do not increase over corrections")
  }
}

extension StoreUnderTest {
  fileprivate func shownValues() throws -> [[SQLiteValue]: [String: SQLiteValue]] {
    let rows = try store.canonicalState().map { ($0.key, $0.cells.mapValues(\.value)) }
    return Dictionary(uniqueKeysWithValues: rows)
  }
}
