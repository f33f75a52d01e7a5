#if Server
import GRDB
import TernCore
import TernDatabase

/// The rows of a space while a snapshot of it is checked, in a file that SQLite removes itself: a
/// million of them are not to be in memory.
struct TracedRows {
  private let read: FastStatement
  private let write: FastStatement
  private let meet: FastStatement
  private let rest: FastStatement

  /// - Parameter db: of its own, in a transaction.
  init(_ db: Database) throws {
    try db.execute(
      sql: """
        CREATE TEMP TABLE row (
          tbl INTEGER, key BLOB, state BLOB, PRIMARY KEY (tbl, key)
        ) WITHOUT ROWID
        """)
    read = try FastStatement(db, "SELECT state FROM row WHERE tbl = ? AND key = ?")
    write = try FastStatement(db, "INSERT OR REPLACE INTO row VALUES (?, ?, ?)")
    meet = try FastStatement(db, "INSERT OR REPLACE INTO row VALUES (?, ?, NULL)")
    rest = try FastStatement(db, "SELECT tbl, key, state FROM row WHERE state IS NOT NULL")
  }

  enum Found {
    case nothing
    case row(TracedRow)
    /// The offered snapshot had it before.
    case met
  }

  func row(_ key: UnsafeRawBufferPointer, of table: TracedTable) throws -> Found {
    bind(key, table, to: read)
    defer { read.reset() }
    guard try read.step() else { return .nothing }
    return read.isNull(0) ? .met : .row(try TracedRow(encoded: read.value(0).content))
  }

  func put(_ row: TracedRow, _ key: UnsafeRawBufferPointer, of table: TracedTable) throws {
    bind(key, table, to: write)
    try row.encoded.withUnsafeBytes {
      write.bind(3, blob: $0)
      try write.run()
    }
  }

  /// The offered snapshot has the row.
  func meet(_ key: UnsafeRawBufferPointer, of table: TracedTable) throws {
    bind(key, table, to: meet)
    try meet.run()
  }

  /// Calls `body` with each row that was not met.
  func forEachMissing(
    _ body: (_ table: Int64, _ key: UnsafeRawBufferPointer, TracedRow) throws -> Void
  ) throws {
    defer { rest.reset() }
    while try rest.step() {
      let row = try TracedRow(encoded: rest.value(2).content)
      try body(rest.int64(0), rest.value(1).content, row)
    }
  }

  private func bind(
    _ key: UnsafeRawBufferPointer, _ table: TracedTable, to statement: FastStatement
  ) {
    statement.bind(1, table.id)
    statement.bind(2, blob: key)
  }
}

extension TracedRow {
  fileprivate var encoded: [UInt8] {
    var writer = ByteWriter()
    writer.append(varint: UInt64(state.life))
    writer.append(fixed: state.stamp.time.rawValue)
    writer.append(varint: UInt64(state.stamp.author))
    writer.append(varint: UInt64(state.covered))
    writer.append(varint: UInt64(values.count))
    for (column, hash) in values {
      writer.append(varint: UInt64(column))
      writer.append(fixed: hash)
    }
    state.appendCells(to: &writer)
    return writer.bytes
  }

  fileprivate init(encoded bytes: UnsafeRawBufferPointer) throws {
    var reader = ByteReader(bytes)
    func small() throws -> UInt32 { UInt32(truncatingIfNeeded: try reader.varint("row")) }
    state = RowState(life: try small())
    let time = HybridTime(rawValue: try reader.fixed(UInt64.self, "row"))
    state.stamp = Stamp(time: time, author: try small())
    state.covered = try small()
    for _ in 0..<(try small()) {
      values.append((try small(), try reader.fixed(UInt64.self, "row")))
    }
    state.cells = try RowState.readCells(try reader.bytes(reader.remaining, "cells"))
  }
}
#endif
