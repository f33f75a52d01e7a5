import TernCore
import TernDatabase

/// Rows that were written here and that no operation can hold.
///
/// Their notes wait, by key, beside the note tables. The next note of such a row brings the waiting
/// one back before it, so that all columns that were ever written are looked at again.
extension StoreTransaction {
  func leaveOut(_ key: [UInt8], masks: [Int64], of table: Int64) throws {
    hasLargeRows = true
    let earlier = try largeRows(of: table).first { $0.key == key }?.masks ?? []
    var writer = ByteWriter()
    for (index, mask) in masks.enumerated() {
      writer.append(.integer(mask | (index < earlier.count ? earlier[index] : 0)))
    }
    let put = try statement("REPLACE INTO \(tables.large) (tbl, key, masks) VALUES (?, ?, ?)")
    try key.withUnsafeBytes { key in
      try writer.bytes.withUnsafeBytes { masks in
        put.bind(1, table)
        put.bind(2, blob: key)
        put.bind(3, blob: masks)
        try put.run()
      }
    }
  }

  /// Puts the waiting notes of rows that were noted again before those.
  func noteLargeRowsAgain(_ sql: TableSQL) throws {
    let note = sql.note
    let match = note.keyNames.enumerated().map { "\($1) = ?\($0 + 1)" }
      .joined(separator: " AND ")
    let first = try statement(
      "SELECT ms, (SELECT min(rowid) FROM \(note.noteTable)) FROM \(note.noteTable) "
        + "WHERE \(match) LIMIT 1")
    for row in try largeRows(of: sql.shape.id) {
      let keys = try unpacked(row.key)
      for (index, value) in keys.enumerated() { first.bind(Int32(index + 1), copy: value) }
      defer { first.reset() }
      guard try first.step() else { continue }
      let (milliseconds, lowest) = (first.int64(0), first.int64(1))
      first.reset()
      try insertNote(note, rowID: lowest - 1, milliseconds, row.masks, keys)
      try forgetLargeRow(row.key, of: sql.shape.id)
    }
  }

  private func insertNote(
    _ note: NoteSQL, rowID: Int64, _ milliseconds: Int64, _ masks: [Int64], _ keys: [Value]
  ) throws {
    let columns = ["rowid"] + note.noteColumns
    let insert = try statement(
      "INSERT INTO \(note.noteTable) (\(columns.joined(separator: ", "))) "
        + "VALUES (\(columns.map { _ in "?" }.joined(separator: ", ")))")
    insert.bind(1, rowID)
    insert.bind(2, milliseconds)
    for index in note.maskNames.indices {
      insert.bind(Int32(index + 3), index < masks.count ? masks[index] : 0)
    }
    for (index, value) in keys.enumerated() {
      insert.bind(Int32(note.maskNames.count + index + 3), copy: value)
    }
    try insert.run()
  }

  /// A merge may have deleted what waited. What it held aside, or keeps, comes back one day; what
  /// the state shows and no table has was deleted here, in a life that does not travel.
  func forgetLargeRowsThatWent() throws {
    for sql in sql {
      let rows = try largeRows(of: sql.shape.id)
      if rows.isEmpty { continue }
      let match = sql.shape.keyColumns.enumerated().map { "\($1.quoted) = ?\($0 + 1)" }
      let select = try statement(
        "SELECT 1 FROM \(sql.shape.qualifiedName) WHERE \(match.joined(separator: " AND "))")
      for row in rows {
        for (index, value) in try unpacked(row.key).enumerated() {
          select.bind(Int32(index + 1), copy: value)
        }
        let isThere = try select.step()
        select.reset()
        if isThere { continue }
        let id = sql.shape.id
        if try !isHeld(id, row.key) && storedContent(in: .kept, id, row.key) == nil
          && !isShown(row.key, sql)
        {
          try forgetLargeRow(row.key, of: sql.shape.id)
        }
      }
    }
  }

  private func isShown(_ key: [UInt8], _ sql: TableSQL) throws -> Bool {
    try state(of: unpacked(key), sql)?.isShown ?? false
  }

  private func forgetLargeRow(_ key: [UInt8], of table: Int64) throws {
    let delete = try statement("DELETE FROM \(tables.large) WHERE tbl = ? AND key = ?")
    try key.withUnsafeBytes { key in
      delete.bind(1, table)
      delete.bind(2, blob: key)
      try delete.run()
    }
  }

  func largeRows(of table: Int64) throws -> [(key: [UInt8], masks: [Int64])] {
    let select = try statement("SELECT key, masks FROM \(tables.large) WHERE tbl = ? ORDER BY key")
    select.bind(1, table)
    defer { select.reset() }
    var rows: [(key: [UInt8], masks: [Int64])] = []
    while try select.step() {
      let masks = try unpacked(Array(select.blob(1))).map { value in
        if case .integer(let mask) = value { mask } else { Int64(-1) }
      }
      rows.append((Array(select.blob(0)), masks))
    }
    return rows
  }

  private func unpacked(_ bytes: [UInt8]) throws -> [Value] {
    try bytes.withUnsafeBytes { try PackedKey.values($0) }
  }

  /// By the table's name.
  func countLargeRows() throws -> [String: Int] {
    var counts: [String: Int] = [:]
    for sql in sql {
      let count = try largeRows(of: sql.shape.id).count
      if count > 0 { counts[sql.shape.name] = count }
    }
    return counts
  }
}
