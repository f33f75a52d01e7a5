import TernCore

extension Replica {
  /// Which rows of which synced tables change, from now on: an element after a commit that sealed
  /// local writes or merged those of others.
  ///
  /// ```swift
  /// for await changes in replica.changes() {
  ///   guard let rows = changes["book"] else { continue }
  ///   switch rows {
  ///   case .keys(let keys): cache.forget(keys)
  ///   case .all: cache.forgetAll()
  ///   }
  /// }
  /// ```
  ///
  /// For who needs keys, to animate rows or to drop what is cached; who needs rows observes them
  /// with GRDB's `ValueObservation`. Changes that come while nobody reads are joined into one
  /// element, with at most ``ReplicaChanges/Limit/keys`` keys of a table. A key may be named though
  /// its row shows the same as before, and none that changed is left out, but for what
  /// another process merges.
  ///
  /// Local writes are told of when they are sealed: by `write`, and otherwise by an engine, writes
  /// of other processes too.
  ///
  /// Each call is a consumer of its own; one loop may take its elements. It ends when its task is
  /// cancelled or the replica is gone. Nothing is recorded while nobody listens.
  public func changes() -> some AsyncSequence<ReplicaChanges, Never> & Sendable {
    store.access.changes.listen()
  }
}
