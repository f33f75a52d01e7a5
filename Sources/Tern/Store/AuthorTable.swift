import TernCore
import TernDatabase

/// What is here of one author's operations.
struct AuthorRow {
  var stored: UInt64
  var merged: UInt64
  var time: HybridTime
  /// The log holds none of the operations up to this one, but those of which something waits.
  var trimmed: UInt64 = 0
  /// Of the operation ``trimmed``.
  var trimmedTime = HybridTime.zero
}

extension AuthorRow {
  init(_ statement: FastStatement, from column: Int32) {
    stored = statement.raw(column)
    merged = statement.raw(column + 1)
    time = HybridTime(rawValue: statement.raw(column + 2))
    trimmed = statement.raw(column + 3)
    trimmedTime = HybridTime(rawValue: statement.raw(column + 4))
  }
}

/// Who wrote what is here, and up to which operation of each. This replica itself is author 0.
struct AuthorTable {
  private let connection: StoreConnection
  /// As stored, but for how far its log was trimmed in this transaction.
  private(set) var own: AuthorRow
  private var tables: StoreTables { connection.tables }

  init(_ connection: StoreConnection, own: AuthorRow) {
    (self.connection, self.own) = (connection, own)
  }

  func row(_ index: UInt32) throws -> AuthorRow {
    if index == 0 { return own }
    let statement = try connection.statement(tables.statements.readAuthor)
    statement.bind(1, Int64(index))
    defer { statement.reset() }
    guard try statement.step() else { return AuthorRow(stored: 0, merged: 0, time: .zero) }
    return AuthorRow(statement, from: 0)
  }

  /// - Parameter authors: by their index.
  mutating func save(_ row: AuthorRow, of index: UInt32, _ authors: Authors) throws {
    if index == 0 { return try saveOwn(row) }
    let statement = try connection.statement(tables.statements.saveAuthor)
    try authors.ids[Int(index)].bytes.withUnsafeBytes { bytes in
      statement.bind(1, Int64(index))
      statement.bind(2, blob: bytes)
      statement.bind(3, raw: row.stored)
      statement.bind(4, raw: row.merged)
      statement.bind(5, raw: row.time.rawValue)
      try statement.run()
    }
  }

  mutating func saveOwn(_ row: AuthorRow) throws {
    let statement = try connection.statement(tables.statements.saveOwn)
    statement.bind(1, raw: row.stored)
    statement.bind(2, raw: row.merged)
    statement.bind(3, raw: row.time.rawValue)
    try statement.run()
    own = row
  }

  func saveTrimmed(_ row: AuthorRow, of index: UInt32) throws {
    let update = try connection.statement(
      "UPDATE \(tables.author) SET trimmed = ?, trimmed_time = ? WHERE idx = ?")
    update.bind(1, raw: row.trimmed)
    update.bind(2, raw: row.trimmedTime.rawValue)
    update.bind(3, Int64(index))
    try update.run()
  }

  /// What this replica has merged of others since it last said so.
  func announce(_ authors: Authors) throws -> VersionVector {
    if authors.ids.count == 1 { return VersionVector() }
    let select = try connection.statement(tables.statements.unannounced)
    var last: Int64 = 0
    var seen = VersionVector()
    while try select.step() {
      last = select.int64(0)
      seen[authors.ids[Int(last)]] = select.raw(1)
    }
    select.reset()
    if !seen.sequences.isEmpty {
      let update = try connection.statement(
        "UPDATE \(tables.author) SET announced = merged WHERE idx > 0 AND idx <= ?")
      update.bind(1, last)
      try update.run()
    }
    return seen
  }
}
