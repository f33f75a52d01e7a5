import GRDB
import TernCore
import TernDatabase

/// A part of an operation that this schema version does not have: one column of one table, or all
/// of the table.
struct DeferredPart: Hashable {
  let table: String
  /// Empty for the whole table.
  let column: String

  init(_ block: BodyBlock, _ column: String = "") {
    self.init(table: block.table, column: column)
  }

  init(table: String, column: String) {
    self.table = table.folded
    self.column = column.folded
  }
}

/// Operations with tables or columns that this schema version does not have stay in the log; what
/// was left of them is named here, so that the upgrade merges that, and only that.
extension StoreTransaction {
  func putOff(_ part: DeferredPart, of id: LogID) throws {
    if Planted.isActive(.deferredForgotten) { return }
    try run("INSERT OR IGNORE INTO \(tables.deferred) (id, tbl, col) VALUES (?, ?, ?)", part, id)
  }

  private func forget(_ part: DeferredPart, of id: LogID) throws {
    try run("DELETE FROM \(tables.deferred) WHERE id = ? AND tbl = ? AND col = ?", part, id)
  }

  private func run(_ sql: String, _ part: DeferredPart, _ id: LogID) throws {
    let statement = try statement(sql)
    statement.bind(1, id.rawValue)
    statement.bind(2, copy: .string(part.table))
    statement.bind(3, copy: .string(part.column))
    try statement.run()
  }

  func hasDeferred() throws -> Bool {
    let any = try statement("SELECT 1 FROM \(tables.deferred) LIMIT 1")
    defer { any.reset() }
    return try any.step()
  }

  func deferredParts() throws -> [(id: LogID, parts: Set<DeferredPart>)] {
    let statement = try statement("SELECT id, tbl, col FROM \(tables.deferred) ORDER BY id")
    defer { statement.reset() }
    var found: [(id: LogID, parts: Set<DeferredPart>)] = []
    while try statement.step() {
      let id = LogID(rawValue: statement.int64(0))
      if found.last?.id.rawValue != id.rawValue { found.append((id, [])) }
      let table = statement.value(1).value?.string ?? ""
      let column = statement.value(2).value?.string ?? ""
      found[found.count - 1].parts.insert(DeferredPart(table: table, column: column))
    }
    return found
  }

  /// Merges what this schema version can now take of the deferred operations, and what an earlier
  /// Tern put aside and this one can read. Looks at every row held aside: the table may
  /// take it now.
  ///
  /// - Parameter migrated: tables of which every row is looked at too, as what it refers to may be
  ///   gone, or may be known only now.
  func replayWaiting(_ migrated: [TableSQL]) throws {
    let deferred = try deferredParts()
    let aside = try unreadableGroups().filter { try bodyError(in: $0) == nil }
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
    let aside = try unreadableGroups().filter { try bodyError(in: $0) == nil }
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
    for (id, parts) in try deferredParts() {
      guard let operation = try operation(id) else {
        throw ReplicaError(.damaged, "the log lacks an operation that was put off")
      }
      // It was readable once; a Tern that is stricter goes on waiting.
      if operation.bodyError() != nil { continue }
      for part in try pass.replay(operation, author: id.author, parts: parts) {
        try forget(part, of: id)
      }
    }
  }
}
