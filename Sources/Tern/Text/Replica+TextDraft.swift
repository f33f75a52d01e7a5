import Foundation
import GRDB
import TernCore
import TernDatabase

extension Replica {
  /// A draft of what a `.text` column holds; `nil` where the table shows no such row.
  ///
  /// ```swift
  /// var draft = try await database.read { db in
  ///   try replica.draft("note", key: ["1"], column: "body", in: db)
  /// }
  /// ```
  ///
  /// - Parameter key: a value for each column of the primary key, in its order.
  /// - Throws: ``RowLookupError`` for what is no `.text` column of a synced table or a key of
  ///   another width, and `DatabaseError`.
  public func draft(_ table: String, key: [SQLiteValue], column: String, in db: Database) throws
    -> TextDraft?
  {
    let place = try store.sql.place(column, table, key)
    guard let text = try place.text(key, db) else { return nil }
    return TextDraft(
      String(decoding: text, as: UTF8.self), table: place.sql.shape.name,
      column: place.column.name, key: key)
  }

  /// Writes a draft's text to its column, and the edits beside it, in the app's own transaction:
  /// both or neither.
  ///
  /// What the column came to hold since the draft was made, by a merge or any other write, stays:
  /// the edits go on top of it, and the draft has the text of both afterwards. It has no edits left
  /// then, and can be edited on. Where the transaction is rolled back, begin again from a draft
  /// made before it.
  ///
  /// ```swift
  /// if var draft = try await database.read({ db in
  ///   try replica.draft("note", key: ["1"], column: "body", in: db)
  /// }) {
  ///   draft.insert("Call me Ishmael.", at: 0)
  ///   let edited = draft
  ///   draft = try await database.write { db in
  ///     var draft = edited
  ///     if try !replica.save(&draft, in: db) { print("the note was deleted meanwhile") }
  ///     return draft
  ///   }
  ///   print(draft.text)
  /// }
  /// ```
  ///
  /// - Returns: whether the row is there; a draft of one that went is left as it is, and nothing is
  ///   stored of it.
  /// - Throws: ``RowLookupError``, and `DatabaseError`, also where the table refuses the text.
  public func save(_ draft: inout TextDraft, in db: Database) throws -> Bool {
    let place = try store.sql.place(draft.column, draft.table, draft.key)
    guard let current = try place.text(draft.key, db) else { return false }
    var moved = draft
    moved.rebase(onto: current)
    let delta = moved.delta
    if !delta.isEmpty {
      moved.saved()
      try place.write(moved.base, delta, draft.key, tables: store.tables, db)
    }
    draft = moved
    return true
  }

}

extension [TableSQL] {
  fileprivate func place(_ column: String, _ table: String, _ key: [SQLiteValue]) throws
    -> TextPlace
  {
    let (sql, _) = try row(table, key: key)
    guard
      let found = sql.shape.columns.first(where: {
        $0.name.folded == column.folded && $0.rule == .text
      })
    else {
      throw RowLookupError(
        .notAText, table: sql.shape.name,
        "the schema has no .text column “\(column)”; name one, or give the column that rule")
    }
    return TextPlace(sql: sql, column: found)
  }
}

/// A `.text` column of a synced table.
private struct TextPlace {
  let sql: TableSQL
  let column: TableShape.Column

  private var match: String {
    sql.shape.keyColumns.map { "\($0.quoted) = ?" }.joined(separator: " AND ")
  }

  /// In valid UTF-8; `nil` for no row.
  func text(_ key: [SQLiteValue], _ db: Database) throws -> [UInt8]? {
    // Whatever encoding the file has, SQLite hands out UTF-8; GRDB would end it at a U+0000.
    let select = try FastStatement(
      db, "SELECT \(column.name.quoted) FROM \(sql.shape.qualifiedName) WHERE \(match)")
    try select.registerAccess(in: db)
    for (index, value) in key.enumerated() { select.bind(Int32(index + 1), copy: value) }
    return try select.first { Array(select.text(0).utf8) }
  }

  /// Through GRDB, so that its observers are told.
  func write(
    _ text: [UInt8], _ delta: TextDelta, _ key: [SQLiteValue], tables: StoreTables, _ db: Database
  ) throws {
    try db.runBound(
      "UPDATE \(sql.shape.qualifiedName) SET \(column.name.quoted) = ? WHERE \(match)",
      [SQLiteValue.text(text)] + key)
    let insert = try StoreConnection(db, tables, memory: nil).statement(
      "INSERT INTO \(tables.splice) (tbl, col, key, delta) VALUES (?, ?, ?, ?)")
    insert.bindAll(
      sql.shape.id, column.id, SQLiteValue.blob(PackedKey.bytes(of: key)),
      SQLiteValue.blob(delta.stored))
    try insert.run()
  }
}
