import Tern
import TernTesting

extension ReplicaStoreConformance {
  func checkLarge() throws {
    let (a, b) = (try StoreUnderTest(self, 1), try StoreUnderTest(self, 2))
    let large = SQLiteValue.blob(Array(repeating: 7, count: SyncOperation.Limit.rowBytes))
    func requireWaiting(_ count: Int, _ what: String) throws {
      let waiting = count == 0 ? [:] : ["item": count]
      try requireEqual(.limitsHold, try a.store.counts().largeRows, waiting, "waiting \(what)")
      try requireEqual(.limitsHold, try a.store.counts().unsealedChanges, 0, "notes \(what)")
      try require(.drains, try !a.store.hasNews(), "what waits is news \(what)")
      for operation in try a.all() {
        try require(
          .limitsHold, operation.bytes.count <= SyncOperation.Limit.bytes, "an operation \(what)")
      }
      try b.pull(from: a)
      // A state may show what its table holds, as with any write that is not sealed yet.
      if count > 0 { return }
      try require(
        .convergence, try b.store.canonicalState() == a.store.canonicalState(),
        "the states differ \(what)")
    }
    try a.commit(
      .insert(["id": "1", "name": "A", "count": 1]),
      .insert(["id": "new", "name": large, "note": "kept", "count": 5]),
      .insert(["id": "3"]))
    try requireWaiting(1, "after a new row that is too large")
    try requireEqual(.limitsHold, try b.row("3")?.life, 1, "a row sealed beside it")
    try a.commit(.update(["id": "1", "name": large]))
    try a.commit(.update(["id": "1", "note": "small", "count": 4]))
    try requireWaiting(2, "after a change that is too large, and a small one after it")
    try require(.limitsHold, try b.value("1", "name") == "A", "what waits has travelled")
    let before = try a.store.versionVector()
    try requireEqual(.drains, try a.store.seal().isEmpty, true, "a seal with nothing new")
    try requireEqual(.drains, try a.store.versionVector(), before, "operations for what waits")
    // The other columns were written while the row was too large.
    try a.commit(.update(["id": "new", "name": "short"]), .update(["id": "1", "name": "B"]))
    try requireWaiting(0, "after both were made shorter")
    try requireEqual(.localWritesStay, try b.value("new", "note"), "kept", "an early column")
    try requireEqual(.localWritesStay, try b.value("new", "count"), 5, "an early counter")
    try requireEqual(.localWritesStay, try b.value("1", "name"), "B", "a shorter value")
    try requireEqual(.localWritesStay, try b.value("1", "note"), "small", "a column beside it")
    try requireEqual(.localWritesStay, try b.value("1", "count"), 4, "a counter beside it")
    try a.commit(.insert(["id": "gone", "name": large]), .update(["id": "1", "name": large]))
    try requireWaiting(2, "before they are deleted")
    try a.commit(.delete(id: "gone"))
    try requireWaiting(1, "after the one was deleted here")
    try b.commit(.delete(id: "1"))
    try a.pull(from: b)
    try requireWaiting(0, "after the other was deleted elsewhere")
    try requireEqual(.convergence, try a.row("gone"), nil, "a row that nobody else ever saw")
  }
}
