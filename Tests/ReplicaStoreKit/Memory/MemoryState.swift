import Tern

/// Everything that a ``MemoryReplicaStore`` holds. A value, so that a transaction is a copy that
/// takes the old one's place when it succeeds.
struct MemoryState: Sendable {
  let schemaVersion: UInt32
  var authors: Authors
  /// By author index, as ``authors`` numbers them; 0 is this replica.
  var progress: [Progress]
  var tables: [MemoryRows]
  var lastTime = HybridTime.zero
  var correctionMilliseconds: Int64 = 0
  var places: [String: RemotePlace] = [:]
  /// Up to which own operation each remote may have.
  var offers: [String: UInt64] = [:]
  /// Up to which own operation each remote once had.
  var accepted: [String: UInt64] = [:]
  /// By remote and author the first number under which the remote has another operation.
  var forks: [String: [Int: UInt64]] = [:]
  /// By replica what it told of forks: this one of all, and others of the ids of this one.
  var toldForks: [ReplicaID: [ReplicaID: UInt64]] = [:]
  var deferredOperations = 0
  /// Operations that came under a number that another one has.
  var sameSequences = 0
  var putAside: [PutAside] = []

  var waiting: PendingOperations {
    var waiting = PendingOperations()
    if deferredOperations > 0 { waiting.counts[.schema] = deferredOperations }
    for group in putAside {
      waiting.counts[group.time == nil ? .unreadable : .clock, default: 0] += 1
    }
    waiting.first = putAside.first.map {
      PendingOperation(
        replica: authors.ids[$0.author], sequence: $0.sequences.upperBound,
        reason: $0.time == nil ? .unreadable : .clock, detail: $0.reason)
    }
    return waiting
  }

  struct Progress: Sendable {
    /// Operations by sequence, from 1; the last may be fragments whose group is not whole yet.
    var log: [SyncOperation] = []
    var merged: UInt64 = 0
    /// How much of ``merged`` this replica's own operations have said that it saw.
    var announced: UInt64 = 0

    var stored: UInt64 { UInt64(log.count) }
    var time: HybridTime { log.last?.envelope.time ?? .zero }
  }

  /// A group that is in the log and not in the state.
  struct PutAside: Sendable {
    let author: Int
    let sequences: ClosedRange<UInt64>
    let reason: String
    /// Of a group that waits for the clock.
    var time: HybridTime?
  }

  init(id: ReplicaID, schemaVersion: UInt32, tables: [MemoryShape]) {
    self.schemaVersion = schemaVersion
    authors = Authors([id])
    progress = [Progress()]
    self.tables = tables.map(MemoryRows.init)
  }

  mutating func author(_ id: ReplicaID) -> Int {
    let index = Int(authors.add(id))
    if index == progress.count { progress.append(Progress()) }
    return index
  }

  var versionVector: VersionVector {
    var vector = VersionVector()
    for (id, progress) in zip(authors.ids, progress) { vector[id] = progress.merged }
    return vector
  }

  /// What this replica has merged of others since it last said so; of more replicas than one
  /// operation can name, the rest is for the next one.
  mutating func announceSeen() -> VersionVector {
    var seen = VersionVector()
    for index in progress.indices.dropFirst()
    where progress[index].merged > progress[index].announced {
      if seen.sequences.count == SyncOperation.Limit.seen { break }
      seen[authors.ids[index]] = progress[index].merged
      progress[index].announced = progress[index].merged
    }
    return seen
  }

  func operations(
    lackedBy heads: VersionVector, repeating repeated: Set<ReplicaID> = [], maximumBytes: Int
  ) -> [SyncOperation] {
    var operations: [SyncOperation] = []
    var total = 0
    for (index, id) in authors.ids.enumerated() {
      let (known, log) = (Int(clamping: heads[id]), log(beforeFutureOf: index))
      guard log.count > known else { continue }
      for operation in log.dropFirst(repeated.contains(id) ? max(known - 1, 0) : known) {
        let (sum, isOver) = total.addingReportingOverflow(operation.bytes.count)
        if !operations.isEmpty, isOver || sum > maximumBytes { return operations }
        total = sum
        operations.append(operation)
        if operations.count == OperationBatch.Limit.operations { return operations }
      }
    }
    return operations
  }

  /// The same for a push, without those of whom the remote has other operations.
  mutating func offer(
    lackedBy heads: VersionVector, repeating repeated: Set<ReplicaID>, maximumBytes: Int,
    to remoteID: String
  ) -> [SyncOperation] {
    var heads = heads
    for author in (forks[remoteID] ?? [:]).keys {
      heads[authors.ids[author]] = VersionVector.maximumSequence
    }
    let operations = operations(
      lackedBy: heads, repeating: repeated, maximumBytes: maximumBytes)
    offers[remoteID] = max(offers[remoteID] ?? 0, operations.heads[authors.ids[0]])
    return operations
  }

  /// An author's operations up to the first that waits for the clock.
  private func log(beforeFutureOf author: Int) -> ArraySlice<SyncOperation> {
    let first = putAside.filter { $0.author == author && $0.time != nil }
      .map(\.sequences.lowerBound).min()
    return progress[author].log.prefix(first.map { Int($0) - 1 } ?? .max)
  }

  // MARK: - Restamping

  /// Gives own operations after `accepted` new times, and merges the whole log again: a write that
  /// had lost may be the latest under its new time, and then it must win here too (INV-01).
  mutating func restamp(after accepted: UInt64, at remoteID: String, nowMilliseconds: Int64) throws
  {
    let limit = nowMilliseconds + MemoryReplicaStore.toleratedMilliseconds
    let known = max(accepted, self.accepted[remoteID] ?? 0)
    var fixed = Int(clamping: offers.filter { $0.key != remoteID }.values.reduce(known, max))
    // A push may end within a group, which has one time.
    while fixed > 0, fixed < progress[0].log.count, progress[0].log[fixed - 1].envelope.continues {
      fixed += 1
    }
    let others = progress.indices.dropFirst()
      .compactMap { log(beforeFutureOf: $0).last?.envelope.time }.reduce(.zero, max)
    let first = progress[0].log.indices.dropFirst(fixed).first {
      let time = progress[0].log[$0].envelope.time
      return time.milliseconds > limit && time > others
    }
    guard let first else { return }
    let kept = progress[0].log.prefix(first).last?.envelope.time ?? .zero
    var latest = max(others, kept)
    var old: HybridTime?
    for index in first..<progress[0].log.count {
      let operation = progress[0].log[index]
      if operation.envelope.time != old {
        latest = latest.next(atMilliseconds: nowMilliseconds)
        old = operation.envelope.time
      }
      progress[0].log[index] = operation.restamped(latest)
    }
    lastTime = latest
    for index in tables.indices { tables[index] = MemoryRows(shape: tables[index].shape) }
    deferredOperations = 0
    for index in progress.indices {
      for operation in progress[index].log.prefix(Int(progress[index].merged))
      where !putAside.contains(where: {
        $0.author == index && $0.sequences.contains(operation.envelope.sequence)
      }) {
        _ = try mergeRows(of: operation, author: index)
      }
    }
  }
}
