import TernCore
import TernDatabase

extension StoreTransaction {
  /// What this replica has merged of others since it last said so.
  func announceSeen() throws -> VersionVector {
    if authors.ids.count == 1 { return VersionVector() }
    let select = try statement(tables.statements.unannounced)
    var last: Int64 = 0
    var seen = VersionVector()
    while try select.step() {
      last = select.int64(0)
      seen[authors.ids[Int(last)]] = select.raw(1)
    }
    select.reset()
    if !seen.sequences.isEmpty {
      let update = try statement(
        "UPDATE \(tables.author) SET announced = merged WHERE idx > 0 AND idx <= ?")
      update.bind(1, last)
      try update.run()
    }
    return seen
  }

  func versionVector(_ column: KeyPath<AuthorRow, UInt64>) throws -> VersionVector {
    var vector = VersionVector()
    for (index, id) in authors.ids.enumerated() {
      vector[id] = try author(UInt32(index))[keyPath: column]
    }
    return vector
  }

  func operations(
    lackedBy heads: VersionVector, repeating repeated: Set<ReplicaID> = [], maximumBytes: Int
  ) throws -> [SyncOperation] {
    let select = try statement(
      "SELECT bytes FROM \(tables.log) WHERE id > ? AND id <= ? ORDER BY id")
    var operations: [SyncOperation] = []
    var total = 0
    for (index, id) in authors.ids.enumerated() {
      let known = try author(UInt32(index)).stored
      let stored = try waiting.firstFuture(of: UInt32(index)).map { $0 - 1 } ?? known
      // What the log has no longer, only a snapshot can bring there.
      let trimmed = try author(UInt32(index)).trimmed
      guard stored > heads[id], trimmed <= heads[id] else { continue }
      let isRepeated = repeated.contains(id) && trimmed < heads[id]
      let held = isRepeated ? heads[id] - 1 : heads[id]
      select.bind(1, LogID(author: UInt32(index), sequence: held).rawValue)
      select.bind(2, LogID(author: UInt32(index), sequence: stored).rawValue)
      defer { select.reset() }
      while try select.step() {
        let bytes = select.blob(0)
        if !operations.isEmpty, total + bytes.count > maximumBytes { return operations }
        total += bytes.count
        operations.append(try SyncOperation(bytes: Array(bytes)))
        if operations.count == Batch.Limit.operations { return operations }
      }
    }
    return operations
  }

  // MARK: - Remotes

  /// What a remote with these heads lacks, without those of whom it has other operations.
  func operations(
    lackedBy heads: VersionVector, repeating repeated: Set<ReplicaID>, at remoteID: String,
    maximumBytes: Int
  ) throws -> [SyncOperation] {
    var heads = heads
    for author in try remotes.forks(at: remoteID).keys {
      heads[authors.ids[Int(author)]] = VersionVector.maximumSequence
    }
    return try operations(lackedBy: heads, repeating: repeated, maximumBytes: maximumBytes)
  }

  /// Whether the remote was offered all of this replica's own among the operations.
  func isOffered(_ operations: [SyncOperation], to remoteID: String) throws -> Bool {
    try operations.heads[ownID] <= remotes.offered(to: remoteID)
  }

  // MARK: - Counts

  func count(_ table: String) throws -> Int {
    let select = try statement("SELECT count(*) FROM \(table)")
    defer { select.reset() }
    _ = try select.step()
    return Int(select.int64(0))
  }

  func conflicts() throws -> [ConflictKind: Int] {
    let select = try statement("SELECT kind, count FROM \(tables.conflict)")
    defer { select.reset() }
    var counts: [ConflictKind: Int] = [:]
    while try select.step() {
      guard let kind = select.value(0).value?.string.flatMap(ConflictKind.init) else { continue }
      counts[kind] = Int(select.int64(1))
    }
    return counts
  }
}
