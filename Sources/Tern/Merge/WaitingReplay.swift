import TernCore
import TernDatabase

/// Merges what waited in the log, as far as that is over.
extension StoreTransaction {
  func part(_ sequence: UInt64, of group: LogGroup) throws -> SyncOperation {
    guard let operation = try operation(LogID(author: group.author, sequence: sequence)) else {
      throw ReplicaError(.damaged, "the log lacks an operation that it acknowledged")
    }
    return operation
  }

  /// Why a group's bodies cannot be read, or `nil`.
  func bodyError(in group: LogGroup) throws -> WireError? {
    for sequence in group.sequences {
      if let error = try part(sequence, of: group).bodyError() { return error }
    }
    return nil
  }

  /// Takes a group that waited into the state.
  func takeUp(_ group: LogGroup, _ pass: MergePass) throws {
    try waiting.remove(group)
    try pass.merge(group)
  }

  /// Merges what this schema version can now take of the deferred operations, and what an earlier
  /// Tern put aside and this one can read. Looks at every row held aside: the table may
  /// take it now.
  ///
  /// - Parameter migrated: tables of which every row is looked at too, as what it refers to may be
  ///   gone, or may be known only now.
  func replayWaiting(_ migrated: [TableSQL]) throws {
    let deferred = try waiting.parts()
    let aside = try waiting.unreadableGroups().filter { try bodyError(in: $0) == nil }
    let orphans = try migrated.map { (sql: $0, keys: try rowsWithoutParent(of: $0)) }
      .filter { !$0.keys.isEmpty }
    if try deferred.isEmpty && aside.isEmpty && orphans.isEmpty && !hasHeldRows() { return }
    try wakeAll()
    let pass = try MergePass(self)
    for (sql, keys) in orphans { try keys.forEach(pass.writer(for: sql).noteOrphan) }
    for group in aside { try takeUp(group, pass) }
    try replayDeferred(pass)
    try pass.finish()
  }

  /// Tries the rows again that their tables refused: what a function of the app's says may be
  /// another by now. And what an earlier Tern put aside, if this one can read it.
  func tryRefused() throws {
    let aside = try waiting.unreadableGroups().filter { try bodyError(in: $0) == nil }
    if try aside.isEmpty && !hasHeldRows() { return }
    try statement(tables.statements.wakeRefused).run()
    guard try !aside.isEmpty || hasUnsettledRows() else { return }
    let pass = try MergePass(self)
    for group in aside { try takeUp(group, pass) }
    try pass.finish()
  }

  /// The keys of the rows in a table that lack a parent. Of those that a migration brought no state
  /// says that they are to be there, or not.
  private func rowsWithoutParent(of sql: TableSQL) throws -> [[UInt8]] {
    let writer = try TableWriter(self, sql, hasHeld: true)
    var keys: [[UInt8]] = []
    for foreignKey in sql.shape.foreignKeys {
      let select = try statement(sql.orphans(foreignKey))
      defer { select.reset() }
      while try select.step() {
        let key = select.packedKey(sql.shape)
        if try writer.state(of: key)?.isShown ?? false { keys.append(key) }
      }
    }
    return keys
  }

  func replayDeferred(_ pass: MergePass) throws {
    for (id, parts) in try waiting.parts() {
      guard let operation = try operation(id) else {
        throw ReplicaError(.damaged, "the log lacks an operation that was put off")
      }
      // It was readable once; a Tern that is stricter goes on waiting.
      if operation.bodyError() != nil { continue }
      for part in try pass.replay(operation, author: id.author, parts: parts) {
        try waiting.forget(part, of: id)
      }
    }
  }
}
