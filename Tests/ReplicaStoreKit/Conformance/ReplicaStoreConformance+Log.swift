import Tern
import TernTesting

extension ReplicaStoreConformance {
  func checkSeal() throws {
    let a = try StoreUnderTest(self, 1)
    try requireEqual(.localWritesStay, try a.store.seal(), 0..<0, "sealing an empty store")
    try requireEqual(.localWritesStay, try a.store.replicaID(), a.id, "the store's identity")
    try a.subject.write([.insert(["id": "1", "name": "A"]), .insert(["id": "2", "name": "B"])])
    try require(
      .localWritesStay, try a.store.counts().unsealedChanges > 0, "a write left nothing to seal")
    try requireEqual(.localWritesStay, try a.store.seal(), 1..<2, "sealing one transaction")
    let once = try a.picture()
    try require(.localWritesStay, try a.store.seal().isEmpty, "the second seal made operations")
    try require(.localWritesStay, try a.picture() == once, "the second seal changed something")
    try requireEqual(.localWritesStay, once.counts.unsealedChanges, 0, "notes after a seal")
    try requireEqual(.localWritesStay, once.state.count, 2, "rows in the state after a seal")
    try requireEqual(.localWritesStay, try a.value("1", "name"), "A", "a written value")
    let operation = once.log[0]
    try requireEqual(.localWritesStay, operation.envelope.replica, a.id, "the operation's author")
    try requireEqual(
      .localWritesStay, operation.envelope.schemaVersion, Self.schema.version, "its schema version")
    try a.subject.write([.insert(["id": "3", "name": "C"]), .delete(id: "3")])
    try a.store.seal()
    try requireEqual(
      .localWritesStay, try a.all().count, 1, "operations after a row came and went unsealed")
    let later = try a.commit(.update(["id": "1", "name": "D"]))
    try requireEqual(.localWritesStay, later.map(\.envelope.sequence), [2], "the next sequence")
    try require(
      .timesIncrease, later[0].envelope.time > operation.envelope.time,
      "the second operation's time is not after the first one's")
  }

  func checkLog() throws {
    let (a, b) = (try StoreUnderTest(self, 1), try StoreUnderTest(self, 2))
    for number in 1...7 { try a.commit(.insert(["id": .string("a\(number)")])) }
    for number in 1...5 { try b.commit(.insert(["id": .string("b\(number)")])) }
    try a.pull(from: b)
    let all = try a.all()
    try requireEqual(.acknowledgedIsStored, all.count, 12, "operations in the log")
    for limit in [0, 1, all[0].bytes.count, 150, 1000, .max] {
      var heads = VersionVector()
      var count = 0
      while true {
        let page = try a.store.operations(lackedBy: heads, maximumBytes: limit)
        if page.isEmpty { break }
        let total = page.reduce(0) { $0 + $1.bytes.count }
        try require(
          .limitsHold, page.count == 1 || total <= limit,
          "a page of \(total) bytes was given for a limit of \(limit)")
        for envelope in page.map(\.envelope) {
          try requireEqual(
            .acknowledgedIsStored, envelope.sequence, heads[envelope.replica] + 1,
            "the sequence after \(heads[envelope.replica]) of \(envelope.replica)")
          heads[envelope.replica] = envelope.sequence
        }
        count += page.count
      }
      try requireEqual(.acknowledgedIsStored, count, 12, "operations in pages of \(limit) bytes")
    }
    let lacked = try a.store.operations(
      lackedBy: VersionVector([a.id: 5, b.id: 5]), maximumBytes: .max)
    try requireEqual(
      .acknowledgedIsStored, lacked.map(\.envelope.sequence), [6, 7], "what a remote lacks")
    try require(
      .acknowledgedIsStored, try Set(b.all()).isSubset(of: all),
      "another replica's operations were not passed on byte for byte")
  }

  func checkCursor() throws {
    let (a, b) = (try StoreUnderTest(self, 1), try StoreUnderTest(self, 2))
    try requireEqual(
      .cursorFollowsState, try b.store.place(at: StoreUnderTest.remoteID), nil, "a first place")
    try b.merge(a.commit(.insert(["id": "1"])), cursor: "7")
    var place = RemotePlace(
      remoteID: StoreUnderTest.remoteID, epoch: "e", cursor: RemoteCursor(rawValue: "7"))
    try requireEqual(
      .cursorFollowsState, try b.store.place(at: StoreUnderTest.remoteID), place,
      "the place after a merge")
    try b.merge([], cursor: "9")
    place.cursor = RemoteCursor(rawValue: "9")
    try requireEqual(
      .cursorFollowsState, try b.store.place(at: StoreUnderTest.remoteID), place,
      "an empty page's place")
    try b.store.restamp(after: 0, at: StoreUnderTest.remoteID, nowMilliseconds: 0)
    try b.store.seal()
    try requireEqual(
      .cursorFollowsState, try b.store.place(at: StoreUnderTest.remoteID), place,
      "the place after a seal")
    try requireEqual(
      .cursorFollowsState, try b.store.place(at: "another"), nil, "another remote's place")
    let before = try b.store.canonicalState()
    place.cursor = nil
    place.epoch = "f"
    try b.store.resetPlace(place)
    try requireEqual(
      .cursorFollowsState, try b.store.place(at: StoreUnderTest.remoteID), place,
      "the place when reset")
    try require(
      .cursorFollowsState, try b.store.canonicalState() == before, "a reset changed the state")
  }

  func checkSeen() throws {
    let (a, b) = (try StoreUnderTest(self, 1), try StoreUnderTest(self, 2))
    try a.commit(.insert(["id": "1"]))
    try a.commit(.insert(["id": "2"]))
    try b.pull(from: a)
    let first = try b.commit(.update(["id": "1", "name": "B"]))
    let second = try b.commit(.update(["id": "1", "name": "C"]))
    try requireEqual(
      .convergence, first.map(\.envelope.seen), [VersionVector([a.id: 2])], "what B had seen")
    try requireEqual(
      .convergence, second.map(\.envelope.seen), [VersionVector()], "what B had seen since")
  }
}
