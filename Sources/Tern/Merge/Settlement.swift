import TernCore
import TernDatabase

/// Decides at the end of a merge which rows can be shown.
///
/// Rows held aside are shown together and then taken back, where their parents are missing, until
/// none is left without: the greatest set of rows that can stand together. It does not depend on
/// the order in which they arrived, so that equal states give equal tables (INV-01), rows that
/// refer to each other included.
final class Settlement {
  private let transaction: StoreTransaction
  private var writers: [Int64: TableWriter]

  init(_ transaction: StoreTransaction, writers: [Int64: TableWriter]) throws {
    self.transaction = transaction
    self.writers = writers
  }

  func run() throws -> [Int64: TableWriter] {
    if try transaction.hasHeldRows() {
      for sql in transaction.sql { try showHeld(sql) }
    }
    var isSettled = false
    while !isSettled {
      isSettled = true
      for sql in transaction.sql {
        guard let writer = writers[sql.shape.id] else { continue }
        let (written, removed) = writer.takeTouched()
        for key in written where try isOrphan(key, sql, writer) {
          try writer.hold(key, .parent, adding: [:])
          isSettled = false
        }
        for key in removed {
          isSettled = try !holdChildren(of: key, sql.shape) && isSettled
        }
      }
    }
    return writers
  }

  private func writer(_ sql: TableSQL) throws -> TableWriter {
    if let writer = writers[sql.shape.id] { return writer }
    let writer = try TableWriter(transaction, sql, hasHeld: true)
    writers[sql.shape.id] = writer
    return writer
  }

  private func showHeld(_ sql: TableSQL) throws {
    let keys = try transaction.heldKeys(sql.shape.id)
    if keys.isEmpty { return }
    let writer = try writer(sql)
    let read = try transaction.statement(sql.readState)
    for key in keys {
      _ = try writer.bind(key, to: read)
      let state = try read.step() ? try transaction.state(in: read, from: 0) : nil
      read.reset()
      guard let state, state.isShown,
        let content = try transaction.storedContent(in: .held, sql.shape.id, key)
      else { continue }
      try transaction.dropContent(in: .held, sql.shape.id, key)
      // What is too large to travel was written here meanwhile, and stands for itself.
      if try writer.read(key) != nil { continue }
      try writer.write(key, content: sql.shape.present(content))
    }
  }

  /// Whether a shown row refers to one that is not in its table.
  private func isOrphan(_ key: [UInt8], _ sql: TableSQL, _ writer: TableWriter) throws -> Bool {
    for foreignKey in sql.shape.foreignKeys {
      let statement = try transaction.statement(sql.orphan(foreignKey))
      _ = try writer.bind(key, to: statement)
      defer { statement.reset() }
      if try statement.step() { return true }
    }
    return false
  }

  /// Holds aside the rows that refer to one that went; `true` when there were any.
  private func holdChildren(of key: [UInt8], _ parent: TableShape) throws -> Bool {
    var hasHeld = false
    for sql in transaction.sql {
      for foreignKey in sql.shape.foreignKeys
      where foreignKey.parent.folded == parent.name.folded {
        guard let select = sql.children(foreignKey, of: parent) else { continue }
        let writer = try writer(sql)
        let statement = try transaction.statement(select)
        _ = try writer.bind(key, to: statement)
        var children: [[UInt8]] = []
        while try statement.step() {
          var packed = ByteWriter()
          for index in sql.shape.keyColumns.indices {
            packed.append(key: statement.value(Int32(index)))
          }
          children.append(packed.bytes)
        }
        statement.reset()
        for child in children where try isOrphan(child, sql, writer) {
          try writer.hold(child, .parent, adding: [:])
          hasHeld = true
        }
      }
    }
    return hasHeld
  }
}

extension TableShape {
  /// What was held aside under the columns' present names, without those that were dropped.
  func present(_ content: [String: Value]) -> [String: Value] {
    var present = content.filter { has($0.key) }
    for column in columns where present[column.name] == nil {
      for former in column.formerNames {
        if let value = content[former] { present[column.name] = value }
      }
    }
    return present
  }

  func has(_ column: String) -> Bool {
    columns.contains { $0.name.folded == column.folded }
      || localColumns.contains { $0.folded == column.folded }
  }
}

extension TableSQL {
  /// Yields a row when the row with the bound key lacks its parent.
  func orphan(_ foreignKey: TableShape.ForeignKey) -> String {
    let key = shape.keyColumns.enumerated().map { "c.\($1.quoted) = ?\($0 + 1)" }
    return "SELECT 1 FROM \(shape.qualifiedName) AS c WHERE \(key.joined(separator: " AND ")) "
      + "AND \(lacksParent(foreignKey))"
  }

  /// The condition that row `c` refers to a parent which is not in its table.
  func lacksParent(_ foreignKey: TableShape.ForeignKey) -> String {
    let present = foreignKey.columns.map { "c.\($0.quoted) IS NOT NULL" }
    let match = zip(foreignKey.parentColumns, foreignKey.columns)
      .map { "p.\($0.quoted) = c.\($1.quoted)" }
    return "\(present.joined(separator: " AND ")) AND NOT EXISTS (SELECT 1 FROM "
      + "main.\(foreignKey.parent.quoted) AS p WHERE \(match.joined(separator: " AND ")))"
  }

  /// Yields the keys of the rows that refer to the parent with the bound key; `nil` where they do
  /// not refer to its primary key.
  func children(_ foreignKey: TableShape.ForeignKey, of parent: TableShape) -> String? {
    var matches: [String] = []
    for (column, parentColumn) in zip(foreignKey.columns, foreignKey.parentColumns) {
      let index = parent.keyColumns.firstIndex { $0.folded == parentColumn.folded }
      guard let index else { return nil }
      matches.append("\(column.quoted) = ?\(index + 1)")
    }
    return "SELECT \(shape.keyColumns.map(\.quoted).joined(separator: ", ")) "
      + "FROM \(shape.qualifiedName) WHERE \(matches.joined(separator: " AND "))"
  }
}
