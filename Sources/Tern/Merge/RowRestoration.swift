import GRDB
import TernCore
import TernDatabase

/// Makes rows stand as recorded that the app's triggers changed in a merge.
///
/// A row that stands and is to stand is changed in place: its rowid and its local columns stay.
/// First the app's triggers are on, so that what they mirror follows. What they would only change
/// again is written with all triggers off.
final class RowRestoration {
  typealias RowID = StrayWatch.RowID

  private struct Row {
    let id: RowID
    let writer: TableWriter
    let content: StrayWatch.Content

    var key: [UInt8] { id.key }
    var sql: TableSQL { writer.sql }
  }

  /// Columns of a table that triggers change again whenever they are written.
  private struct Stubborn: Hashable {
    let table: Int64
    let columns: [String]
  }

  private let transaction: StoreTransaction
  private let rows: [Row]
  private let firesTriggers: Bool

  init(
    _ transaction: StoreTransaction, _ contents: [RowID: StrayWatch.Content],
    firesTriggers: Bool = true
  ) throws {
    self.transaction = transaction
    self.firesTriggers = firesTriggers
    rows = try transaction.sql.flatMap { sql -> [Row] in
      let contents = contents.filter { $0.key.table == sql.shape.id }
      if contents.isEmpty { return [] }
      let writer = try TableWriter(transaction, sql, hasHeld: true)
      return contents.map { Row(id: $0, writer: writer, content: $1) }
        .sorted { $0.key.lexicographicallyPrecedes($1.key) }
    }
  }

  func run() throws {
    for row in rows {
      transaction.recorder?.note(row.id.table, row.key, isLocal: false)
      try transaction.dropContent(in: .held, row.id.table, row.key)
      try transaction.dropContent(in: .kept, row.id.table, row.key)
    }
    if firesTriggers { try writeUnderTriggers() }
    let left = try rows.filter { try !stands($0) }
    if !left.isEmpty { try transaction.db.withoutTriggers { try write(left) } }
    for row in rows {
      guard let held = row.content.held else { continue }
      try transaction.hold(row.id.table, row.key, held.reason, content: held.content)
    }
  }

  private func writeUnderTriggers() throws {
    var stubborn: Set<Stubborn> = []
    for row in rows where try !stands(row) {
      let columns = try row.writer.read(row.key).map { differing(row, $0) } ?? []
      let kind = Stubborn(table: row.id.table, columns: columns)
      if stubborn.contains(kind) { continue }
      try transaction.db.inSavepoint {
        if try write(row), try stands(row) { return .commit }
        if !columns.isEmpty { stubborn.insert(kind) }
        return .rollback
      }
    }
  }

  private func write(_ left: [Row]) throws {
    // What goes makes room.
    for row in left where row.content.shown == nil { _ = try write(row) }
    var waiting = left.filter { $0.content.shown != nil }
    var count = 0
    repeat {
      count = waiting.count
      waiting = try waiting.filter { try !write($0) }
    } while !waiting.isEmpty && waiting.count < count
    // Two that swapped what a UNIQUE index holds go both before they come again.
    let taken = try waiting.map { ($0, try takeOut($0)) }
    for (row, copy) in taken { try putBack(row, copy) }
  }

  // MARK: - One row

  /// The columns that travel and hold something else than was recorded.
  private func differing(_ row: Row, _ shown: [String: Value]) -> [String] {
    guard let content = row.content.shown else { return [] }
    return row.sql.shape.columns.map(\.name).filter { content[$0] != shown[$0] }
  }

  private func stands(_ row: Row) throws -> Bool {
    guard let shown = try row.writer.read(row.key) else { return row.content.shown == nil }
    return row.content.shown != nil && differing(row, shown).isEmpty
  }

  /// - Returns: whether the table took it.
  private func write(_ row: Row) throws -> Bool {
    let shown = try row.writer.read(row.key)
    guard let content = row.content.shown else {
      return try shown == nil || run(row.sql.delete, row, [])
    }
    guard let shown else {
      // A trigger removed it.
      let names = content.keys.sorted()
      return try run(row.sql.upsert(names), row, names.map { content[$0]! })
    }
    let names = differing(row, shown)
    return try names.isEmpty
      || run(row.sql.update(names), row, names.map { content[$0] ?? .null })
  }

  private func run(_ sql: String, _ row: Row, _ values: [Value]) throws -> Bool {
    let statement = try transaction.statement(sql)
    let keyCount = try row.writer.bind(row.key, to: statement)
    for (index, value) in values.enumerated() {
      statement.bind(Int32(keyCount + index + 1), copy: value)
    }
    return try row.writer.run(statement, row.key) == nil
  }

  /// What a row holds beside what was recorded, until it is put back.
  private struct Copy {
    var rowID: Value?
    var content: [String: Value]
  }

  private func takeOut(_ row: Row) throws -> Copy {
    var copy = Copy(content: try row.writer.read(row.key) ?? [:])
    for column in row.sql.shape.columns { copy.content[column.name] = nil }
    copy.content.merge(row.content.shown ?? [:]) { local, _ in local }
    if let select = row.sql.rowID {
      let statement = try transaction.statement(select)
      _ = try row.writer.bind(row.key, to: statement)
      copy.rowID = try statement.first { statement.value(0).value ?? .null }
    }
    _ = try run(row.sql.delete, row, [])
    return copy
  }

  private func putBack(_ row: Row, _ copy: Copy) throws {
    let names = copy.content.keys.sorted()
    let values = names.map { copy.content[$0]! }
    let isTaken =
      if let rowID = copy.rowID {
        try run(row.sql.insertUnderRowID(names), row, values + [rowID])
      } else {
        try run(row.sql.upsert(names), row, values)
      }
    // A row that a trigger moved may be where this one belongs: the settlement decides.
    if !isTaken { try transaction.hold(row.id.table, row.key, .unique, content: copy.content) }
  }
}

extension StoreTransaction {
  /// Whether a row that a trigger wrote was inserted by it, and is in no state.
  ///
  /// A row without a state can also be one that a migration wrote: its first note is no insert.
  func isPhantom(_ row: StrayWatch.RowID) throws -> Bool {
    guard let sql = sql.first(where: { $0.shape.id == row.table }) else { return false }
    let writer = try TableWriter(self, sql, hasHeld: true)
    guard try writer.state(of: row.key) == nil, try !isTooLarge(row.key, of: row.table) else {
      return false
    }
    let match = sql.note.keyNames.enumerated().map { "\($1) = ?\($0 + 1)" }
    let first = try statement(
      "SELECT m0 FROM \(sql.note.noteTable) WHERE \(match.joined(separator: " AND ")) "
        + "ORDER BY rowid LIMIT 1")
    _ = try writer.bind(row.key, to: first)
    return try first.first { first.value(0).value == .integer(-1) } ?? false
  }
}
