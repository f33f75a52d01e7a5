import Tern
import TernTesting

extension ReplicaStoreConformance {
  /// Two copies of one database wrote on, and reach a third replica by different remotes.
  func checkFork() throws {
    let (a, copy, b, c) = (
      try StoreUnderTest(self, 1), try StoreUnderTest(self, 1), try StoreUnderTest(self, 2),
      try StoreUnderTest(self, 3)
    )
    let first = try a.commit(.insert(["id": "1", "name": "both"]))
    let mine = try a.commit(.update(["id": "1", "name": "a"]))
    try copy.commit(.insert(["id": "other"]))
    try copy.commit(.insert(["id": "another"]))
    try copy.commit(.insert(["id": "third"]))
    let others = try c.commit(.insert(["id": "c", "name": "c"]))
    try b.merge(first + mine)

    // One page, and then another one: what is left out now stays out.
    let summary = try b.merge(copy.all() + others, from: "another")
    try requireEqual(.cursorFollowsState, summary.leftOutOperations, 1, "operations left out")
    try requireEqual(.convergence, summary.mergedOperations, others.count, "the others' operations")
    let later = try copy.commit(.update(["id": "third", "name": "later"]))
    try requireEqual(
      .cursorFollowsState, try b.merge(later, from: "another").leftOutOperations,
      later.count, "operations left out later")
    let fork = ReplicaFork(remote: "another", replica: a.id, sequence: 1)
    try requireEqual(.cursorFollowsState, try b.store.counts().forks, [fork], "the fork's name")
    try require(
      .convergence, try b.row("c") != nil && b.row("third") == nil,
      "another author was stopped, or something of the other copy was merged")

    // Nothing of that author goes there, and everything else does.
    let heads = VersionVector([a.id: 1])
    let offered = try b.store.offer(
      lackedBy: heads, repeating: [], maximumBytes: .max, to: "another")
    try requireEqual(.timesIncrease, offered, others, "what is offered to the other copy's remote")
    let elsewhere = try b.store.offer(
      lackedBy: heads, repeating: [], maximumBytes: .max, to: "a third")
    try requireEqual(
      .acknowledgedIsStored, Set(elsewhere), Set(mine + others), "what is offered elsewhere")

    // It is known of that remote, for as long as that holds what it says.
    try b.store.dropForks(at: "another", beyond: heads)
    try requireEqual(.cursorFollowsState, try b.store.forks(at: "another"), [fork], "a fork there")
    try requireEqual(.cursorFollowsState, try b.store.forks(at: "a third"), [], "forks elsewhere")
    try b.store.dropForks(at: "another", beyond: VersionVector())
    try requireEqual(.cursorFollowsState, try b.store.forks(at: "another"), [], "a wiped one's")
    _ = try b.merge(copy.all(), from: "another")
    try requireEqual(.cursorFollowsState, try b.store.forks(at: "another"), [fork], "a fork again")

    // The first to arrive goes on, by its own way.
    let next = try a.commit(.update(["id": "1", "name": "a again"]))
    try b.merge(next)
    try requireEqual(.convergence, try b.value("1", "name"), "a again", "the copy that came first")
    // And by the other, once that has the same.
    let summaries = try [first + mine + next, a.commit(.insert(["id": "2"]))].map {
      try b.merge($0, from: "another")
    }
    try requireEqual(.convergence, summaries[1].mergedOperations, 1, "what follows a fork's end")
    try requireEqual(.cursorFollowsState, try b.store.counts().forks, [], "forks at the end")
  }

  /// What it tells is an operation like others, and its end is told like that too.
  func checkToldFork() throws {
    let (a, copy, b, c) = (
      try StoreUnderTest(self, 1), try StoreUnderTest(self, 1), try StoreUnderTest(self, 2),
      try StoreUnderTest(self, 3)
    )
    let first = try a.commit(.insert(["id": "1"]))
    try b.merge(first)
    _ = try b.merge(copy.commit(.insert(["id": "other"])), from: "another")
    try requireEqual(.limitsHold, try c.store.tellForks(), false, "whether it told of nothing")
    let own = try b.commit(.insert(["id": "b"]))
    try requireEqual(.cursorFollowsState, try b.store.tellForks(), true, "whether it told")
    try requireEqual(.limitsHold, try b.store.tellForks(), false, "whether it told twice")
    let notice = try Array(b.all().filter { $0.envelope.replica == b.id }.dropFirst())
    try requireEqual(.cursorFollowsState, notice.count, 1, "operations that tell")

    // Both copies are told, and everybody else merges nothing and waits for nothing.
    let told = ReplicaFork(toldBy: b.id, replica: a.id, sequence: 1)
    for device in [a, copy, c] {
      let known = try device.merge(own).mergedOperations
      let state = try device.store.canonicalState()
      try requireEqual(.convergence, known + device.merge(notice).mergedOperations, 2, "merged")
      try requireEqual(.convergence, try device.store.canonicalState(), state, "the state")
      try requireEqual(.convergence, try device.store.counts().pending.isEmpty, true, "no waiting")
      let isTold = device.id == a.id
      let fork = try device.store.forks(at: nil)
      try requireEqual(.cursorFollowsState, fork, isTold ? [told] : [], "what was told")
      try requireEqual(
        .cursorFollowsState, try device.store.counts().forks, isTold ? [told] : [], "its forks")
    }
    // Nobody who is told tells it on.
    try requireEqual(.limitsHold, try a.store.tellForks(), false, "whether the author tells")

    _ = try b.merge(first, from: "another")
    try requireEqual(.cursorFollowsState, try b.store.tellForks(), true, "whether it told the end")
    try a.pull(from: b)
    try requireEqual(.cursorFollowsState, try a.store.counts().forks, [], "forks at the end")
    try requireEqual(.cursorFollowsState, try a.store.forks(at: nil), [], "what it was told then")
  }
}

extension StoreUnderTest {
  fileprivate func merge(
    _ operations: [SyncOperation], from remoteID: String
  ) throws -> MergeSummary {
    let cursor = RemoteCursor(rawValue: "\(operations.count)")
    return try store.merge(
      PulledPage(operations: operations, cursor: cursor, hasMore: false, now: nil),
      from: RemotePlace(remoteID: remoteID, epoch: "e", cursor: cursor))
  }
}
