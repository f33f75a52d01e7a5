import GRDB
import TernCore
import TernDatabase

/// Builds one table again under its name, beside the renamed old one, and copies the rows.
///
/// SQLite cannot give a table another key in place. What is built is the declaration that the app
/// wrote, word by word but for the columns of the plan, so that devices that migrated and those
/// that were new have the same schema.
struct TableRebuild {
  let db: Database
  let plan: RekeyPlan
  let table: RekeyedTable

  private static let former = StoreTables.commonPrefix + "rekey_former"

  private var isRoot: Bool { table.name == plan.root.name }
  private var addedKey: String? { isRoot ? plan.addedKey : nil }

  func run() throws {
    let creation = try creation()
    let dependents = try Row.fetchAll(
      db,
      sql: """
        SELECT type, name, sql FROM main.sqlite_master
        WHERE tbl_name = ? COLLATE NOCASE AND type IN ('index', 'trigger') AND sql IS NOT NULL
        ORDER BY rowid
        """, arguments: [table.name])
    let temporary = try temporaryTriggers()
    let sequence = try sequence()
    try db.execute(
      sql: "ALTER TABLE main.\(table.name.quoted) RENAME TO \(Self.former)")
    try create(creation)
    try copy()
    try db.execute(sql: "DROP TABLE main.\(Self.former)")
    for object in dependents { try create(object["sql"]) }
    for trigger in temporary where try !hasTemporaryTrigger(trigger.name) {
      // SQLite keeps it without TEMP.
      try db.execute(sql: "CREATE TEMP \(trigger.sql.dropFirst("CREATE ".count))")
    }
    try restore(sequence)
    try verify()
  }

  // MARK: - Declaring

  private func creation() throws -> String {
    let kept = try String.fetchOne(
      db, sql: "SELECT sql FROM main.sqlite_master WHERE type = 'table' AND name = ?",
      arguments: [table.name])
    guard let kept,
      let declaration = TableDeclaration(kept, columnCount: table.columns.count),
      declaration.columnNames.map(\.folded) == table.columns.map(\.name.folded)
    else { throw unreadable }
    let added = addedKey.map { "\($0.quoted) \(plan.storage.type) NOT NULL PRIMARY KEY" }
    return declaration.rewritten(type: plan.storage.type, added: added) { name in
      table.column(name).flatMap(role)
    }
  }

  private func role(_ column: RekeyedTable.Column) -> TableDeclaration.Role? {
    guard plan.isRewritten(table, column.name) else { return nil }
    if plan.isKey(table, column) { return .key }
    // VARCHAR(36) holds a text as well as TEXT.
    return Affinity(column.type) == plan.storage.affinity ? nil : .reference
  }

  /// Runs what SQLite keeps of an object, in the main database: it keeps that without the name of
  /// the database, and a temporary table of the same name would be taken for it.
  private func create(_ sql: String) throws {
    for prefix in ["CREATE TABLE ", "CREATE INDEX ", "CREATE UNIQUE INDEX ", "CREATE TRIGGER "]
    where sql.hasPrefix(prefix) {
      return try db.execute(sql: "\(prefix)main.\(sql.dropFirst(prefix.count))")
    }
    throw unreadable
  }

  private var unreadable: RekeyError {
    RekeyError(
      .unreadableDeclaration, table: table.name,
      "its declaration in sqlite_master could not be taken over as it stands; build the table again "
        + "with plain SQL in a migration before")
  }

  // MARK: - Rows

  private func copy() throws {
    var names: [String] = []
    var values: [String] = []
    // A number that goes stays the rowid; one that stays says it itself.
    let keyIsRowID =
      table.integerKey.map { $0.type.folded == "integer" && !isReplaced($0) } ?? false
    if !keyIsRowID, let rowID = table.rowIDName {
      names.append(rowID)
      values.append("f.\(rowID)")
    }
    for column in table.columns where !column.isGenerated {
      let value = "f.\(column.name.quoted)"
      names.append(column.name.quoted)
      values.append(
        plan.isRewritten(table, column.name) ? RekeyMap.identifier(for: value) : value)
    }
    if let addedKey {
      names.append(addedKey.quoted)
      values.append(RekeyMap.identifier(for: "f.\(table.rowIDName!)"))
    }
    do {
      try db.execute(
        sql: """
          INSERT OR ABORT INTO main.\(table.name.quoted) (\(names.joined(separator: ", ")))
          SELECT \(values.joined(separator: ", ")) FROM main.\(Self.former) AS f
          """)
    } catch let error as DatabaseError where error.resultCode == .SQLITE_CONSTRAINT {
      throw RekeyError(
        .refusedRow, table: table.name,
        "a row cannot hold an identifier in place of its number: \(error.message ?? "constraint"); "
          + "change the constraint first")
    }
    let counts = try Row.fetchOne(
      db,
      sql: """
        SELECT (SELECT count(*) FROM main.\(table.name.quoted)),
          (SELECT count(*) FROM main.\(Self.former))
        """)!
    guard counts[0] as Int == counts[1] else { throw unreadable }
  }

  private func isReplaced(_ column: RekeyedTable.Column) -> Bool {
    plan.isRewritten(table, column.name)
  }

  // MARK: - What goes by the table's name

  /// The greatest number that AUTOINCREMENT gave, of a table that keeps its own.
  private func sequence() throws -> Int64? {
    guard try db.tableExists("sqlite_sequence", in: "main") else { return nil }
    return try Int64.fetchOne(
      db, sql: "SELECT seq FROM main.sqlite_sequence WHERE name = ?", arguments: [table.name])
  }

  private func restore(_ sequence: Int64?) throws {
    guard let sequence, try keepsCounting() else { return }
    try db.execute(
      sql: "DELETE FROM main.sqlite_sequence WHERE name = ?", arguments: [table.name])
    try db.execute(
      sql: "INSERT INTO main.sqlite_sequence (name, seq) VALUES (?, ?)",
      arguments: [table.name, sequence])
  }

  private func keepsCounting() throws -> Bool {
    table.integerKey.map { !isReplaced($0) } ?? false
  }

  private func temporaryTriggers() throws -> [(name: String, sql: String)] {
    let rows = try Row.fetchAll(
      db,
      sql: """
        SELECT name, sql FROM temp.sqlite_temp_master
        WHERE type = 'trigger' AND tbl_name = ? COLLATE NOCASE ORDER BY name
        """, arguments: [table.name])
    return rows.map { ($0["name"], $0["sql"]) }
  }

  private func hasTemporaryTrigger(_ name: String) throws -> Bool {
    try Bool.fetchOne(
      db, sql: "SELECT 1 FROM temp.sqlite_temp_master WHERE type = 'trigger' AND name = ?",
      arguments: [name]) ?? false
  }

  // MARK: - Checking

  /// The table is as it was but for what the plan says: whatever its declaration held.
  private func verify() throws {
    guard let new = try RekeyedTable(db, table.name), new.foreignKeys == table.foreignKeys,
      new.isWithoutRowID == table.isWithoutRowID
    else { throw unreadable }
    let kept = new.columns.filter { $0.name != addedKey }
    guard kept.map(\.name) == table.columns.map(\.name) else { throw unreadable }
    for (new, old) in zip(kept, table.columns) {
      let isKey = plan.isKey(table, old)
      let type = role(old) == nil ? old.type : plan.storage.type
      guard new.type == type, new.isNotNull == (old.isNotNull || isKey),
        new.keyIndex == old.keyIndex, new.hidden == old.hidden,
        new.defaultValue == (isKey ? nil : old.defaultValue)
      else { throw unreadable }
    }
    guard addedKey == nil || new.keyColumns.map(\.name) == [addedKey] else { throw unreadable }
  }
}
