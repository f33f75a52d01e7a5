import Tern
import TernTesting

extension ReplicaStoreConformance {
  func checkFuture() throws {
    let (a, b, c) = (
      try StoreUnderTest(self, 1), try StoreUnderTest(self, 2), try StoreUnderTest(self, 3)
    )
    let wall = -(try b.store.correctClock(nowMilliseconds: 0))
    _ = try b.store.correctClock(nowMilliseconds: wall)
    let rows = try ["soon", "in an hour", "in two", "at the end"].map { key in
      try a.commit(.insert(["id": .string(key), "count": 1]))[0]
    }
    func operation(_ row: Int, _ author: UInt64, _ sequence: UInt64, at time: Int64)
      -> SyncOperation
    {
      let body = Array(rows[row].bytes[rows[row].bodyOffset...])
      return SyncOperation(
        .init(
          replica: .numbered(author), sequence: sequence, time: HybridTime(milliseconds: time),
          schemaVersion: 3), body: body)
    }
    let arrived = [
      operation(0, 4, 1, at: wall + 4 * 60_000), operation(1, 4, 2, at: wall + Self.hour),
      operation(2, 4, 3, at: wall + 2 * Self.hour),
      operation(3, 5, 1, at: HybridTime.maximumMilliseconds),
    ]
    func check(waiting: Int, shown: [SQLiteValue], _ what: String) throws {
      let counts = try b.store.counts()
      try requireEqual(.cursorFollowsState, counts.pending[.clock], waiting, "waiting \(what)")
      let keys = try b.store.canonicalState().map { $0.key[0] }.filter { $0 != "own" }
      try requireEqual(.operationsAreAtomic, Set(keys), Set(shown), "rows \(what)")
      let own = try b.commit(.insert(["id": "own"]), .delete(id: "own"))
      for time in (try own + b.all().filter { $0.envelope.replica == b.id }).map(\.envelope.time) {
        try require(
          .timesIncrease, time.milliseconds < wall + Self.hour / 2 || waiting < 3,
          "the clock was taken along \(what), to \(time)")
      }
    }
    let summary = try b.merge(arrived)
    try requireEqual(.cursorFollowsState, summary.groupsPutAside, 3, "groups put aside")
    try check(waiting: 3, shown: ["soon"], "at first")
    try requireEqual(
      .timesIncrease, try b.all().filter { $0.envelope.replica == .numbered(4) }, [arrived[0]],
      "what is passed on before its time")
    // Its own times stay near the clock of a remote that is behind.
    try b.store.restamp(after: 0, at: StoreUnderTest.remoteID, nowMilliseconds: wall - Self.hour)
    try check(waiting: 3, shown: ["soon"], "after a restamp")
    let repeated = try b.merge(arrived)
    try requireEqual(.convergence, repeated.repeatedOperations, 4, "repeats of what waits")
    // The clocks come near, the remote's first.
    try b.merge([], now: wall + Self.hour)
    try check(waiting: 2, shown: ["soon", "in an hour"], "an hour later")
    try requireEqual(
      .acknowledgedIsStored, try b.all().filter { $0.envelope.replica == .numbered(4) },
      Array(arrived[..<2]), "what is passed on in its time")
    _ = try b.store.correctClock(nowMilliseconds: wall + 2 * Self.hour)
    try require(.drains, try b.store.hasNews(), "a time that has come is no news")
    try b.store.seal()
    try require(.drains, try !b.store.hasNews(), "what was taken up is news again")
    try check(waiting: 1, shown: ["soon", "in an hour", "in two"], "by this device's own clock")
    try c.merge(b.all() + arrived, now: wall + 2 * Self.hour)
    try c.requireState(of: b, "of a replica that met all of it in time")
  }
}
