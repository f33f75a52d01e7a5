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
