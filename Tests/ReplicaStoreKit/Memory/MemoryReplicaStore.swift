import Synchronization
import Tern

/// A replica that lives in memory: the same merge over dictionaries, for tests and simulations.
///
/// Tables have no constraints but UNIQUE, no foreign keys and no triggers, so every complete row of
/// the state is shown that does not collide. Concurrent writes are not counted, but for
/// `.sameSequence`. It neither cuts nor loads snapshots. Nothing survives the value; a copy of the
/// database is ``copy()``.
///
/// ```swift
/// let store = try MemoryReplicaStore(
///   id: id, schema: .library,
///   tables: [MemoryTable("book", key: ["isbn"], columns: ["title", "timesScanned"])],
///   wallMilliseconds: { clock.milliseconds })
/// try store.write { try $0.insert("book", ["isbn": "1", "title": "Dune", "timesScanned": 1]) }
/// ```
package final class MemoryReplicaStore: ReplicaStore {
  private let state: Mutex<MemoryState>
  private let wallMilliseconds: @Sendable () -> Int64

  /// - Parameters:
  ///   - tables: the columns of every table that the schema names.
  ///   - wallMilliseconds: the wall clock, in milliseconds since 1970.
  /// - Throws: ``SchemaError`` for a table or column that is missing.
  package init(
    id: ReplicaID, schema: SyncSchema, tables: [MemoryTable],
    wallMilliseconds: @escaping @Sendable () -> Int64
  ) throws {
    let shapes = try schema.tables.map { declared in
      guard let table = tables.first(where: { $0.name.folded == declared.name.folded }) else {
        throw SchemaError(.missingTable, table: declared.name, "give its columns")
      }
      return try table.shape(declared)
    }
    state = Mutex(MemoryState(id: id, schemaVersion: schema.version, tables: shapes))
    self.wallMilliseconds = wallMilliseconds
  }

  private init(copying state: MemoryState, wallMilliseconds: @escaping @Sendable () -> Int64) {
    self.state = Mutex(state)
    self.wallMilliseconds = wallMilliseconds
  }

  /// A second store with the same content and the same identity, as when a file is copied.
  package func copy() -> MemoryReplicaStore {
    MemoryReplicaStore(copying: state.withLock { $0 }, wallMilliseconds: wallMilliseconds)
  }

  /// Runs `body` on a copy that takes the state's place unless it throws.
  private func transaction<T: Sendable>(
    _ body: (inout MemoryState) throws -> T
  ) throws -> T {
    try state.withLock { state in
      var draft = state
      let result = try body(&draft)
      state = draft
      return result
    }
  }

  // MARK: - The app's side

  /// Changes rows and notes what was changed, all or nothing; a later ``seal()`` makes it an
  /// operation.
  ///
  /// - Throws: what `body` throws, with nothing written.
  package func write(_ body: (inout MemoryWriter) throws -> Void) throws {
    let milliseconds = wallMilliseconds()
    try transaction { state in
      var writer = MemoryWriter(tables: state.tables, milliseconds: milliseconds)
      try body(&writer)
      state.tables = writer.tables
    }
  }

  /// The rows of a table by the bytes of their keys, key columns included.
  package func rows(of table: String) throws -> [[String: SQLiteValue]] {
    try state.withLock { state in
      guard let table = state.tables.first(where: { $0.shape.name.folded == table.folded }) else {
        throw MemoryWriteError(.unknownTable, table: table)
      }
      return try table.rows.sorted { $0.key.lexicographicallyPrecedes($1.key) }.compactMap {
        key, row in try row.shown.map { try table.named(key, $0) }
      }
    }
  }

  // MARK: - ReplicaStore

  @discardableResult
  package func seal() throws -> Range<UInt64> {
    let wall = wallMilliseconds()
    return try transaction { state in
      let sealed = try state.seal()
      _ = try state.takeUpDue(now: wall + state.correctionMilliseconds)
      state.walk()
      return sealed
    }
  }

  package func versionVector() throws -> VersionVector {
    state.withLock { $0.versionVector }
  }

  package func operations(lackedBy heads: VersionVector, maximumBytes: Int) throws
    -> [SyncOperation]
  {
    state.withLock { $0.operations(lackedBy: heads, maximumBytes: maximumBytes) }
  }

  /// Always whole.
  package func merge(
    _ page: PulledPage, from place: RemotePlace, until isOver: () -> Bool
  ) throws -> (MergeSummary, merged: Int) {
    let wall = wallMilliseconds()
    return try transaction { state in
      _ = try state.seal()
      let remote = page.now?.milliseconds ?? 0
      let isBelieved = HybridTime.believedMilliseconds.contains(remote)
      let now = max(wall + state.correctionMilliseconds, isBelieved ? remote : 0)
      var summary = MergeSummary()
      summary.changedTables = try state.takeUpDue(now: now)
      for operation in page.operations {
        try state.take(operation, from: place.remoteID, now: now, &summary)
      }
      state.walk()
      state.places[place.remoteID] = place
      return (summary, page.operations.count)
    }
  }

  package func place(at remoteID: String) throws -> RemotePlace? {
    state.withLock { $0.places[remoteID] }
  }

  package func resetPlace(_ place: RemotePlace) throws {
    state.withLock { $0.places[place.remoteID] = place }
  }

  package func forks(at remoteID: String?) throws -> [ReplicaFork] {
    state.withLock { state in
      guard let remoteID else {
        return state.forksTold.filter { $0.replica == state.authors.ids[0] }
      }
      return state.replicaForks.filter { $0.remote == remoteID }
        .sorted { $0.replica < $1.replica }
    }
  }

  package func dropForks(at remoteID: String, beyond heads: VersionVector) throws {
    state.withLock { state in
      let ids = state.authors.ids
      state.forks[remoteID] = state.forks[remoteID]?.filter { heads[ids[$0.key]] >= $0.value }
    }
  }

  package func tellForks() throws -> Bool {
    let wall = wallMilliseconds()
    return try transaction {
      try $0.tellForks(nowMilliseconds: wall + $0.correctionMilliseconds)
    }
  }

  package func offer(
    lackedBy heads: VersionVector, repeating repeated: Set<ReplicaID>, maximumBytes: Int,
    to remoteID: String
  ) throws -> [SyncOperation] {
    state.withLock {
      $0.offer(lackedBy: heads, repeating: repeated, maximumBytes: maximumBytes, to: remoteID)
    }
  }

  package func accepted(by remoteID: String) throws -> UInt64 {
    state.withLock { $0.accepted[remoteID] ?? 0 }
  }

  package func noteAccepted(of sequence: UInt64, by remoteID: String) throws {
    state.withLock { $0.accepted[remoteID] = max($0.accepted[remoteID] ?? 0, sequence) }
  }

  package func restamp(after accepted: UInt64, at remoteID: String, nowMilliseconds: Int64) throws {
    try transaction { state in
      _ = try state.seal()
      try state.restamp(after: accepted, at: remoteID, nowMilliseconds: nowMilliseconds)
      state.walk()
    }
  }

  package func correctClock(nowMilliseconds: Int64) throws -> Int64 {
    let offset = nowMilliseconds - wallMilliseconds()
    return try transaction { state in
      let correction = abs(offset) > Self.toleratedMilliseconds ? offset : 0
      if abs(correction - state.correctionMilliseconds) > 1000 {
        // Notes keep the clock that they were taken under.
        _ = try state.seal()
        state.walk()
        state.correctionMilliseconds = correction
      }
      return offset
    }
  }

  /// How far a clock may be off before it is corrected for.
  static let toleratedMilliseconds: Int64 = 5 * 60 * 1000

  package func hasNews() throws -> Bool {
    let wall = wallMilliseconds()
    return state.withLock { state in
      state.tables.contains { !$0.notes.isEmpty }
        || state.hasDue(now: wall + state.correctionMilliseconds)
    }
  }

  package func ownHead() throws -> (id: ReplicaID, sequence: UInt64) {
    state.withLock { ($0.authors.ids[0], $0.versionVector[$0.authors.ids[0]]) }
  }

  package func counts() throws -> ReplicaCounts {
    state.withLock { state in
      var counts = ReplicaCounts()
      counts.unsealedChanges = state.tables.reduce(0) { $0 + $1.notes.count }
      counts.operations = state.progress.reduce(0) { $0 + $1.log.count }
      counts.quarantined = state.tables.reduce(0) { sum, table in
        sum + table.rows.values.count(where: \.isHeld)
      }
      counts.pending = state.waiting
      counts.forks = state.replicaForks + state.forksTold
      if state.sameSequences > 0 { counts.conflicts[.sameSequence] = state.sameSequences }
      for table in state.tables where !table.large.isEmpty {
        counts.largeRows[table.shape.name] = table.large.count
      }
      return counts
    }
  }

  package func canonicalState() throws -> [CanonicalRow] {
    try state.withLock { try $0.canonicalState() }
  }
}
