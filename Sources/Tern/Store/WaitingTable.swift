import TernCore
import TernDatabase

/// Operations of one author that merge together.
struct LogGroup: Hashable {
  let author: UInt32
  let sequences: ClosedRange<UInt64>

  var first: LogID { LogID(author: author, sequence: sequences.lowerBound) }
  var last: LogID { LogID(author: author, sequence: sequences.upperBound) }
}

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

/// What is in the log and passed on, and is not in the state, with the reason.
///
/// - A group waits whole (INV-06), for the clock or because its content can't be read, so that one
///   bad operation stops nobody. Whether content can be read follows from its bytes alone: all
///   replicas put the same groups aside, and merge them when a newer Tern can read them.
/// - Of an operation with tables or columns that this schema version does not have, these parts
///   wait. The upgrade merges them, and only them.
///
/// A merge does not depend on the order in which these are taken up.
struct WaitingTable {
  private let connection: StoreConnection
  private var table: String { connection.tables.waiting }
  /// Whether any group waits.
  private(set) var hasGroups: Bool
  /// Whether a group waits for the clock.
  private(set) var hasFuture: Bool

  init(_ connection: StoreConnection, hasGroups: Bool, hasFuture: Bool) {
    (self.connection, self.hasGroups, self.hasFuture) = (connection, hasGroups, hasFuture)
  }

  // MARK: - Groups

  /// - Parameter time: of a group that waits for the clock.
  mutating func putAside(_ group: LogGroup, until time: HybridTime? = nil, _ detail: String) throws
  {
    hasGroups = true
    if time != nil { hasFuture = true }
    let due = time.map { $0.milliseconds - ClockLimit.toleratedMilliseconds }
    try run(
      "REPLACE INTO \(table) (id, tbl, col, first, reason, detail, due_ms) VALUES (?, '', '', ?, ?, ?, ?)",
      .integer(group.last.rawValue), .integer(Int64(group.sequences.lowerBound)),
      .string((time == nil ? PendingReason.unreadable : .clock).rawValue), .string(detail),
      due.map { .integer($0) } ?? .null)
  }

  /// To be merged now.
  func remove(_ group: LogGroup) throws {
    try run(
      "DELETE FROM \(table) WHERE id = ? AND tbl = '' AND col = ''", .integer(group.last.rawValue))
  }

  func groups() throws -> [LogGroup] { try groups("reason <> 'schema'") }

  /// Those that could not be read, each author's in its order.
  func unreadableGroups() throws -> [LogGroup] {
    hasGroups ? try groups("reason <> 'schema' AND due_ms IS NULL") : []
  }

  func groups(dueBy milliseconds: Int64) throws -> [LogGroup] {
    hasFuture ? try groups("due_ms IS NOT NULL AND due_ms <= \(milliseconds)") : []
  }

  private func groups(_ condition: String) throws -> [LogGroup] {
    let select = try connection.statement(
      "SELECT id, first FROM \(table) WHERE \(condition) ORDER BY id")
    var groups: [LogGroup] = []
    try select.each {
      let last = LogID(rawValue: select.int64(0))
      groups.append(LogGroup(author: last.author, sequences: select.raw(1)...last.sequence))
    }
    return groups
  }

  /// Whether an operation is in a group that waits.
  func holds(_ id: LogID) throws -> Bool {
    guard hasGroups else { return false }
    let end = LogID(author: id.author + 1, sequence: 0)
    return try first(
      "SELECT 1 FROM \(table) WHERE reason <> 'schema' AND id >= ? AND id < ? AND first <= ? LIMIT 1",
      .integer(id.rawValue), .integer(end.rawValue), .integer(Int64(id.sequence))) != nil
  }

  /// The first operation in groups of an author that wait, up to one that does not; `nil` where
  /// there is none.
  func firstSequence(of author: UInt32, before id: LogID? = nil) throws -> UInt64? {
    guard hasGroups else { return nil }
    let end = id ?? LogID(author: author + 1, sequence: 0)
    return try first(
      "SELECT min(first) FROM \(table) WHERE reason <> 'schema' AND id > ? AND id < ?",
      .integer(LogID(author: author, sequence: 0).rawValue), .integer(end.rawValue))
  }

  /// The first sequence of an author that waits for the clock: it goes to no remote before.
  func firstFuture(of author: UInt32) throws -> UInt64? {
    guard hasFuture else { return nil }
    return try first(
      "SELECT first FROM \(table) WHERE reason <> 'schema' AND reason = 'clock' "
        + "AND id > ? AND id < ? ORDER BY id LIMIT 1",
      .integer(LogID(author: author, sequence: 0).rawValue),
      .integer(LogID(author: author + 1, sequence: 0).rawValue))
  }

  // MARK: - Parts

  func putOff(_ part: DeferredPart, of id: LogID) throws {
    if Planted.isActive(.deferredForgotten) { return }
    try run(
      "INSERT OR IGNORE INTO \(table) (id, tbl, col, first, reason) VALUES (?, ?, ?, ?, 'schema')",
      .integer(id.rawValue), .string(part.table), .string(part.column), .integer(Int64(id.sequence))
    )
  }

  func forget(_ part: DeferredPart, of id: LogID) throws {
    try run(
      "DELETE FROM \(table) WHERE id = ? AND tbl = ? AND col = ? AND reason = 'schema'",
      .integer(id.rawValue), .string(part.table), .string(part.column))
  }

  func hasParts() throws -> Bool {
    try first("SELECT 1 FROM \(table) WHERE reason = 'schema' LIMIT 1") != nil
  }

  func parts() throws -> [(id: LogID, parts: Set<DeferredPart>)] {
    let select = try connection.statement(
      "SELECT id, tbl, col FROM \(table) WHERE reason = 'schema' ORDER BY id")
    var found: [(id: LogID, parts: Set<DeferredPart>)] = []
    try select.each {
      let id = LogID(rawValue: select.int64(0))
      if found.last?.id.rawValue != id.rawValue { found.append((id, [])) }
      let table = select.value(1).value?.string ?? ""
      let column = select.value(2).value?.string ?? ""
      found[found.count - 1].parts.insert(DeferredPart(table: table, column: column))
    }
    return found
  }

  // MARK: - All

  /// Forgets what waits: a snapshot brings its own.
  ///
  /// - Parameter authors: `nil` for all.
  mutating func forget(of authors: Set<UInt32>?) throws {
    guard let authors else {
      try run("DELETE FROM \(table)")
      (hasGroups, hasFuture) = (false, false)
      return
    }
    for author in authors {
      try run(
        "DELETE FROM \(table) WHERE id > ? AND id < ?",
        .integer(LogID(author: author, sequence: 0).rawValue),
        .integer(LogID(author: author + 1, sequence: 0).rawValue))
    }
  }

  /// How much waits, by reason, and one of it.
  func summary(authors: [ReplicaID?]) throws -> PendingOperations {
    var summary = PendingOperations()
    let counts = try connection.statement(connection.tables.countWaiting)
    try counts.each {
      guard let reason = PendingReason(rawValue: counts.text(0)), counts.int(1) > 0 else { return }
      summary.counts[reason] = counts.int(1)
    }
    if !summary.isEmpty { summary.first = try list(authors: authors, limit: 1).first }
    return summary
  }

  /// Those that wait whole first.
  ///
  /// - Parameter authors: in the log's order. What names none of them is damaged, and left out.
  func list(authors: [ReplicaID?], limit: Int) throws -> [PendingOperation] {
    let select = try connection.statement(connection.tables.listWaiting + " LIMIT \(limit)")
    var operations: [PendingOperation] = []
    try select.each {
      guard select.int64(0) >= 0, let reason = PendingReason(rawValue: select.text(1)) else {
        return
      }
      let id = LogID(rawValue: select.int64(0))
      guard Int(id.author) < authors.count, let replica = authors[Int(id.author)] else { return }
      operations.append(
        PendingOperation(
          replica: replica, sequence: id.sequence, reason: reason, detail: select.text(2)))
    }
    return operations
  }

  // MARK: - Statements

  private func run(_ sql: String, _ values: SQLiteValue...) throws {
    let statement = try connection.statement(sql)
    for (index, value) in values.enumerated() { statement.bind(Int32(index + 1), copy: value) }
    try statement.run()
  }

  /// The first row's number; `nil` where there is none, or it is NULL.
  private func first(_ sql: String, _ values: SQLiteValue...) throws -> UInt64? {
    let select = try connection.statement(sql)
    for (index, value) in values.enumerated() { select.bind(Int32(index + 1), copy: value) }
    defer { select.reset() }
    guard try select.step(), !select.isNull(0) else { return nil }
    return select.raw(0)
  }
}

extension StoreTables {
  /// A reason and a number a row. Of operations of which parts wait it makes one search for each,
  /// however many parts it has.
  var countWaiting: String {
    """
    SELECT reason, count(*) FROM \(waiting) WHERE reason <> 'schema' GROUP BY reason
    UNION ALL SELECT 'schema', count(id) FROM (
      WITH RECURSIVE found (id) AS (
        SELECT min(id) FROM \(waiting) WHERE reason = 'schema' UNION ALL
        SELECT (SELECT min(id) FROM \(waiting) WHERE id > found.id AND reason = 'schema') FROM found
        WHERE found.id IS NOT NULL)
      SELECT id FROM found)
    """
  }

  /// Their numbers in the log, with reason and detail; those that wait whole first.
  var listWaiting: String {
    """
    SELECT id, reason, detail FROM (
      SELECT id, reason, detail FROM \(waiting) WHERE reason <> 'schema'
      UNION ALL SELECT id, reason, '' FROM \(waiting) WHERE reason = 'schema' GROUP BY id)
    """
  }
}
