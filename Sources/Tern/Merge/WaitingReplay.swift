import TernCore
import TernDatabase

/// Merges what waited in the log for another schema or another Tern, as far as that is over.
struct WaitingReplay {
  private let transaction: StoreTransaction

  init(_ transaction: StoreTransaction) {
    self.transaction = transaction
  }

  /// What could not be read, and can be now.
  private func readableGroups() throws -> [LogGroup] {
    try transaction.waiting.unreadableGroups().filter {
      try transaction.log.bodyError(in: $0) == nil
    }
  }

  /// Merges what this schema version can now take of the deferred operations, and what an earlier
  /// Tern put aside and this one can read. Looks at every row quarantined: the table may
  /// take it now.
  ///
  /// - Parameter migrated: tables of which every row is looked at too, as what it refers to may be
  ///   gone, or may be known only now.
  func run(_ migrated: [TableSQL]) throws {
    let deferred = try transaction.waiting.parts()
    let aside = try readableGroups()
    for sql in migrated { try PointedRows(transaction: transaction).adopt(sql) }
    let orphans = try migrated.map { (sql: $0, keys: try rowsWithoutParent(of: $0)) }
      .filter { !$0.keys.isEmpty }
    if try deferred.isEmpty && aside.isEmpty && orphans.isEmpty && !transaction.held.hasRows()
      && !transaction.held.isUnsettled()
    {
      return
    }
    try transaction.held.wakeAll()
    let pass = try MergePass(transaction)
    for (sql, keys) in orphans { try pass.writer(for: sql).written += keys }
    for group in aside { try pass.takeUp(group) }
    try mergeParts(pass)
    try pass.finish()
  }

  /// Tries the rows again that their tables refused: what a function of the app's says may be
  /// another by now. And what an earlier Tern put aside, if this one can read it.
  func tryRefused() throws {
    let aside = try readableGroups()
    let isUnsettled = try transaction.held.isUnsettled()
    if try aside.isEmpty && !isUnsettled && !transaction.held.hasRows() { return }
    try transaction.statement(transaction.tables.statements.wakeRefused).run()
    guard try !aside.isEmpty || isUnsettled || transaction.held.hasUnsettledRows() else { return }
    let pass = try MergePass(transaction)
    for group in aside { try pass.takeUp(group) }
    try pass.finish()
  }

  /// The keys of the rows in a table that lack a parent. Of those that a migration brought no state
  /// says that they are to be there, or not.
  private func rowsWithoutParent(of sql: TableSQL) throws -> [[UInt8]] {
    let writer = try TableWriter(transaction, sql, hasHeld: true)
    var keys: [[UInt8]] = []
    for foreignKey in sql.shape.foreignKeys {
      let select = try transaction.statement(sql.orphans(foreignKey))
      defer { select.reset() }
      while try select.step() {
        let key = select.packedKey(sql.shape)
        if try writer.state(of: key)?.isShown ?? false { keys.append(key) }
      }
    }
    return keys
  }

  func mergeParts(_ pass: MergePass) throws {
    for (id, parts) in try transaction.waiting.parts() {
      guard let operation = try transaction.log.operation(id) else {
        throw ReplicaError(.damaged, "the log lacks an operation that was put off")
      }
      // It was readable once; a Tern that is stricter goes on waiting.
      if operation.bodyError() != nil { continue }
      for part in try pass.replay(operation, author: id.author, parts: parts) {
        try transaction.waiting.forget(part, of: id)
      }
    }
  }
}
