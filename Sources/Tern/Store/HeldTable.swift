import TernCore
import TernDatabase

/// Why a row is in the state and not in its table.
enum HeldReason: String, CaseIterable {
  /// CHECK, NOT NULL or another constraint of the table refused it.
  case constraint
  /// A row that it refers to is not in its table.
  case parent
  /// A row that it refers to is deleted.
  case orphaned
  /// A row that was created earlier holds the same in a UNIQUE index.
  case unique
  /// Columns arrived before the insert that they belong to.
  case incomplete
  /// It is to go, and its table refuses that: it stands there still.
  case removal
  /// The same, and it stays in its table: it points to that row. Nothing is held of it.
  case folded
  /// The same: what it refers to is deleted, and a ``Veil`` says what it shows instead.
  case veiled
  /// It is deleted, and a change may bring it back. Such rows are counted as deleted, and kept in a
  /// table of their own.
  case deleted

  var place: ContentPlace { self == .deleted ? .kept : .held }

  /// Whether the row stays in its table, so that nothing is held of it.
  var isInTable: Bool { self == .folded || self == .veiled }

  /// In SQL: that it does not.
  static let isOutOfTable =
    "reason NOT IN (\(allCases.filter(\.isInTable).map { "'\($0)'" }.joined(separator: ", ")))"
}

/// Where the content of a row stands that is in the state and not in its table.
enum ContentPlace {
  /// Of a row that is alive.
  case held
  /// Of a deleted one.
  case kept
}

extension StoreTables {
  fileprivate subscript(place: ContentPlace) -> String { place == .held ? held : kept }

  /// Matches one row's content.
  fileprivate func match(_ place: ContentPlace) -> String {
    "tbl = ? AND key = ?" + (place == .held ? " AND \(HeldReason.isOutOfTable)" : "")
  }
}

/// What is kept of rows that are in the state and not in their table, by column name, local columns
/// included.
final class HeldTable {
  let connection: StoreConnection
  var tables: StoreTables { connection.tables }
  /// Whether rows are quarantined, once that was looked up.
  private var isAny: Bool?
  /// Whether observers were told that quarantined rows changed.
  private(set) var hasTold = false

  init(_ connection: StoreConnection) {
    self.connection = connection
  }

  func statement(_ sql: String) throws -> FastStatement { try connection.statement(sql) }

  /// Whether any row is quarantined.
  func hasRows() throws -> Bool {
    if let isAny { return isAny }
    let statement = try statement(tables.statements.anyHeld)
    let found = try statement.first {} != nil
    isAny = found
    return found
  }

  func reason(of row: RowID) throws -> HeldReason? {
    let select = try statement("SELECT reason FROM \(tables.held) WHERE tbl = ? AND key = ?")
    defer { select.reset() }
    return try row.key.withUnsafeBytes { key in
      select.bind(1, row.table)
      select.bind(2, blob: key)
      return try select.step() ? select.value(0).value?.string.flatMap(HeldReason.init) : nil
    }
  }

  // MARK: - Settling later

  /// What was sealed may be what a quarantined row waits for: a merge looks, or the next seal has
  /// it looked.
  func noteUnsettled() throws {
    try statement(tables.statements.noteUnsettled).run()
  }

  func isUnsettled() throws -> Bool {
    let select = try statement(tables.statements.isUnsettled)
    defer { select.reset() }
    return try select.step()
  }

  func forgetUnsettled() throws {
    if try !isUnsettled() { return }
    try statement(tables.statements.forgetUnsettled).run()
  }

  // MARK: - Contents

  func holds(_ table: Int64, _ packedKey: some ContiguousBytesLike) throws -> Bool {
    try content(in: .held, table, packedKey) != nil
  }

  func content(
    in place: ContentPlace, _ table: Int64, _ packedKey: some ContiguousBytesLike
  ) throws -> [String: SQLiteValue]? {
    let statement = try statement(
      "SELECT content FROM \(tables[place]) WHERE \(tables.match(place))")
    return try packedKey.withBytes { key in
      statement.bind(1, table)
      statement.bind(2, blob: key)
      defer { statement.reset() }
      return try statement.step() ? try Self.readContent(statement.blob(0)) : nil
    }
  }

  func drop(
    in place: ContentPlace, _ table: Int64, _ packedKey: some ContiguousBytesLike
  ) throws {
    let count = try run(
      "DELETE FROM \(tables[place]) WHERE \(tables.match(place))", table, packedKey)
    guard place == .held, count > 0 else { return }
    try forgetWaits(table, packedKey)
  }

  /// A row is folded no longer, or veiled.
  func release(_ reason: HeldReason, _ table: Int64, _ packedKey: some ContiguousBytesLike) throws {
    let count = try run(
      "DELETE FROM \(tables.held) WHERE tbl = ? AND key = ? AND reason = '\(reason)'", table,
      packedKey)
    if count > 0 { try forgetWaits(table, packedKey) }
  }

  private func forgetWaits(_ table: Int64, _ packedKey: some ContiguousBytesLike) throws {
    isAny = nil
    try run(tables.statements.forgetWaits, table, packedKey)
    try run(tables.statements.settleRow, table, packedKey)
    try notify()
  }

  func hold(
    _ table: Int64, _ packedKey: some ContiguousBytesLike, _ reason: HeldReason,
    content: [String: SQLiteValue]
  ) throws {
    let place = reason.place
    if place == .held { isAny = true }
    let statement = try statement(
      place == .held
        ? "REPLACE INTO \(tables.held) (tbl, key, content, reason) VALUES (?, ?, ?, ?)"
        : "REPLACE INTO \(tables.kept) (tbl, key, content) VALUES (?, ?, ?)")
    try packedKey.withBytes { key in
      try Self.bytes(of: content).withUnsafeBytes { content in
        statement.bind(1, table)
        statement.bind(2, blob: key)
        statement.bind(3, blob: content)
        if place == .held { statement.bind(4, copy: .string(reason.rawValue)) }
        try statement.run()
      }
    }
    try wake(table, packedKey)
    if place == .held { try notify() }
  }

  /// The row that it waits for is known to be deleted.
  func markOrphaned(_ row: RowID) throws {
    try run(
      "UPDATE \(tables.held) SET reason = '\(HeldReason.orphaned)' WHERE tbl = ? AND key = ?",
      row.table, row.key)
    try notify()
  }

  /// Tells observers of what is quarantined, once in a transaction.
  func notify() throws {
    if hasTold { return }
    hasTold = true
    try connection.db.notifyChanges(inTable: tables.held)
  }

  static func bytes(of content: [String: SQLiteValue]) -> [UInt8] {
    var writer = ByteWriter()
    for (name, value) in content.sorted(by: { $0.key < $1.key }) {
      writer.append(string: name)
      writer.append(value)
    }
    return writer.bytes
  }

  static func readContent(_ buffer: UnsafeRawBufferPointer) throws -> [String: SQLiteValue] {
    var reader = ByteReader(buffer)
    var content: [String: SQLiteValue] = [:]
    while !reader.isAtEnd {
      let name = try reader.string("held column")
      content[name] = try reader.value("held value").value ?? .null
    }
    return content
  }
}

extension TableShape {
  /// What was quarantined or kept under the names that the table has now, spelled as it has them: a
  /// migration can change the letters' case alone. What was of dropped columns is left out.
  func present(_ content: [String: SQLiteValue]) -> [String: SQLiteValue] {
    // In one order, since an earlier Tern could leave both spellings of one name.
    let byName = Dictionary(
      content.sorted { $0.key < $1.key }.map { ($0.key.folded, $0.value) },
      uniquingKeysWith: { $1 })
    func value(_ name: String) -> SQLiteValue? { content[name] ?? byName[name.folded] }
    var present: [String: SQLiteValue] = [:]
    for column in columns {
      present[column.name] = ([column.name] + column.formerNames).lazy.compactMap(value).first
    }
    for name in localColumns { present[name] = value(name) }
    return present
  }

  func has(_ column: String) -> Bool {
    columns.contains { $0.name.folded == column.folded }
      || localColumns.contains { $0.folded == column.folded }
  }
}
