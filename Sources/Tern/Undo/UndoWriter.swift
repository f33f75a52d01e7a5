import GRDB
import TernCore
import TernDatabase

/// Writes what an undo has decided, in an order in which nothing that a foreign key or a trigger
/// makes of one row takes along, or moves, another.
struct UndoWriter {
  typealias Write = (write: UndoRow.Write, row: UndoRow)

  private let transaction: StoreTransaction
  /// Inserts and updates that are not taken yet.
  private var waiting: [Write]
  /// Those of rows that refer to columns of others which are written too: they come behind these.
  private let followers: [Write]
  /// All inserts and updates, for what comes behind them.
  private let updates: [Write]
  private var deletes: [Write]
  /// All rows that are to be deleted.
  private let going: [RowID: UndoRow]
  /// By table, columns that a foreign key of any table names.
  private var named: [Int64: Set<String>] = [:]

  init(_ transaction: StoreTransaction, _ writes: [Write]) {
    self.transaction = transaction
    deletes = writes.filter { $0.write.isDelete }
    going = Dictionary(uniqueKeysWithValues: deletes.map { ($0.row.id, $0.row) })
    let others = writes.filter { !$0.write.isDelete }
    var written: [String: Set<String>] = [:]
    for case (.update(let content), let row) in others {
      written[row.sql.shape.name.folded, default: []].formUnion(content.keys.map(\.folded))
    }
    func follows(_ write: Write) -> Bool {
      write.row.sql.shape.foreignKeys.contains { foreignKey in
        let columns = written[foreignKey.parent.folded] ?? []
        return foreignKey.parentColumns.contains { columns.contains($0.folded) }
      }
    }
    followers = others.filter(follows)
    updates = others
    waiting = followers.isEmpty ? others : others.filter { !follows($0) }
  }

  /// - Returns: rows that cannot go, because others that stay refer to them by now, and rows that
  ///   their table refuses to change. What was written is then to be rolled back.
  mutating func run() throws -> [(row: UndoRow, reason: UndoneOperation.Reason)] {
    if !followers.isEmpty {
      try advance()
      waiting += followers
    }
    try advance()
    var kept: [(row: UndoRow, reason: UndoneOperation.Reason)] = []
    func write(_ write: Write) throws {
      if try !isAccepted(write) { kept.append((write.row, .refused)) }
    }
    for waiting in waiting { try write(waiting) }
    for delete in deletes {
      if try closure(of: delete.row) == nil {
        kept.append((delete.row, .changedSince))
      } else {
        try write(delete)
      }
    }
    // An action may have moved one that had its values already.
    if kept.isEmpty { for follower in followers { try write(follower) } }
    if kept.isEmpty { try unveil() }
    return kept
  }

  /// A reference that is taken back may be what its row's veil shows already.
  private func unveil() throws {
    for case (.update(let content), let row) in updates {
      let writer = try TableWriter(transaction, row.sql, hasHeld: transaction.held.hasRows())
      try writer.veils.unveil(content.keys, of: row.id.key)
    }
  }

  /// A table may take a row only when another one has made room: what is refused is tried again
  /// behind the rest.
  private mutating func advance() throws {
    var (passes, hasMadeRoom) = (0, false)
    while !waiting.isEmpty || !deletes.isEmpty {
      let refused = try waiting.filter { try !isTaken($0) }
      var hasTaken = refused.count < waiting.count
      waiting = refused
      // Late, because a trigger may delete what refers to a row that goes.
      if waiting.isEmpty || !hasTaken {
        let left = try deletes.filter { try !hasGone($0.row) }
        hasTaken = hasTaken || left.count < deletes.count
        deletes = left
      }
      passes += 1
      // Where each row waits for the next one, a pass takes one.
      if hasTaken, hasMadeRoom || passes < 2 { continue }
      if hasMadeRoom { return }
      // Two that swapped what a UNIQUE index holds: both let go of it first.
      hasMadeRoom = true
      for (index, write) in waiting.enumerated() { try letGo(write, index) }
    }
  }

  // MARK: - Rows that go

  /// Takes a row away behind those that refer to it, unless one of these stays, or waits to be
  /// written.
  private func hasGone(_ row: UndoRow) throws -> Bool {
    guard let rows = try closure(of: row) else { return false }
    return try rows.reversed().map { try isTaken((.delete, $0)) }.last ?? true
  }

  /// The row with all that refer to it, directly or not; `nil` where one of them is not to go.
  private func closure(of row: UndoRow) throws -> [UndoRow]? {
    var rows = [row]
    var seen: Set = [row.id]
    var index = 0
    while index < rows.count {
      let isNeeded = try rows[index].hasChild(in: transaction) { child, _ in
        guard let going = going[child] else { return true }
        if seen.insert(child).inserted { rows.append(going) }
        return false
      }
      if isNeeded { return nil }
      index += 1
    }
    return rows
  }

  // MARK: - Room

  /// Puts something else into the columns of UNIQUE indexes that a row is about to get a value in,
  /// if the table takes any of it. What it is to refer to, it refers to at once: it may be what
  /// keeps another row.
  private mutating func letGo(_ write: Write, _ index: Int) throws {
    guard case .update(let content) = write.write else { return }
    let shape = write.row.sql.shape
    let unique = Set(shape.uniques.flatMap(\.columns).map(\.name.folded))
    let references = Set(shape.foreignKeys.flatMap(\.columns).map(\.folded))
    let names = content.keys.filter { unique.contains($0.folded) }
    if names.isEmpty { return }
    var fillers: [SQLiteValue] = [
      .null, .integer(.min + Int64(index)), .integer(.max - Int64(index)), .blob(write.row.id.key),
    ]
    // From NULL no action leads the children of other tables back.
    let named = try namedColumns(of: shape)
    if names.contains(where: { named.contains($0.folded) }) { fillers.removeFirst() }
    let others = content.filter { references.contains($0.key.folded) }
    for value in fillers {
      let filled = others.merging(names.map { ($0, value) }) { $1 }
      if try isTaken((.update(filled), write.row)) { return }
    }
  }

  private mutating func namedColumns(of shape: TableShape) throws -> Set<String> {
    if let columns = named[shape.id] { return columns }
    let names = try String.fetchAll(
      transaction.db,
      sql: """
        SELECT f."to" FROM main.sqlite_master AS t, pragma_foreign_key_list(t.name, 'main') AS f
        WHERE t.type = 'table' AND f."table" = ? COLLATE NOCASE AND f."to" IS NOT NULL
        """, arguments: [shape.name])
    let columns = Set(names.map(\.folded))
    named[shape.id] = columns
    return columns
  }

  // MARK: - One row

  private func isTaken(_ write: Write) throws -> Bool {
    do {
      return try run(write) { statement in
        try statement.runUnlessRefused() == nil && !hasMissed(write, statement)
      }
    } catch let end as TransactionEnded {
      throw end.cause
    }
  }

  /// The same where nothing makes room any more. What a trigger of the app's refuses, or a table
  /// that refers to this one, is an error: they may allow that the next time.
  private func isAccepted(_ write: Write) throws -> Bool {
    do {
      let isLost = try run(folded(write)) { statement in
        try statement.run()
        return try hasMissed(write, statement)
      }
      if !isLost { return true }
    } catch let error as DatabaseError where transaction.db.isInsideTransaction {
      if try isRefusedByItsTable(write) { return false }
      throw error
    }
    throw DatabaseError(
      resultCode: .SQLITE_CONSTRAINT,
      message: "a trigger or a foreign key's action took away the row \(write.row.key) of table "
        + "“\(write.row.sql.shape.name)”, which was to be written")
  }

  /// The same of a row that collides where rows are folded.
  private func folded(_ write: Write) throws -> Write {
    let search = RivalSearch(
      writer: try TableWriter(transaction, write.row.sql, hasHeld: true))
    let key = write.row.id.key
    switch write.write {
    case .insert(let content): return (.insert(try search.folded(content, into: key)), write.row)
    case .update(let content): return (.update(try search.folded(content, into: key)), write.row)
    case .delete: return write
    }
  }

  private func isRefusedByItsTable(_ write: Write) throws -> Bool {
    var isRefused = false
    try transaction.connection.inSavepoint {
      isRefused = try transaction.db.withoutForeignKeys {
        try transaction.triggers.withoutTriggers {
          try run(write) { try $0.runUnlessRefused() } != nil
        }
      }
      return .rollback
    }
    return isRefused
  }

  /// Whether an update met no row, because there is none any more.
  private func hasMissed(_ write: Write, _ statement: FastStatement) throws -> Bool {
    guard case .update = write.write, statement.changeCount == 0 else { return false }
    let writer = try TableWriter(transaction, write.row.sql, hasHeld: true)
    return try writer.read(write.row.id.key) == nil
  }

  private func run<T>(_ write: Write, _ execute: (FastStatement) throws -> T) throws -> T {
    let (write, row) = write
    let statement: FastStatement
    var values: [SQLiteValue] = []
    switch write {
    case .delete: statement = try transaction.statement(row.sql.delete)
    case .update(let content), .insert(let content):
      let names = content.keys.sorted()
      values = names.map { content[$0]! }
      if case .update = write {
        statement = try transaction.statement(row.sql.update(names))
      } else {
        statement = try transaction.statement(row.sql.upsert(names))
      }
    }
    for (index, value) in (row.key + values).enumerated() {
      statement.bind(Int32(index + 1), copy: value)
    }
    let result = try transaction.notes.withoutCounting(row.sql) { try execute(statement) }
    try transaction.notifyWrite(to: row.sql.shape)
    return result
  }
}

extension UndoRow.Write {
  fileprivate var isDelete: Bool {
    if case .delete = self { true } else { false }
  }
}
