import Foundation
import Tern

/// Local changes inside one ``MemoryReplicaStore/write(_:)``. Rows are given by column name; the
/// key's columns say which row is meant.
package struct MemoryWriter {
  var tables: [MemoryRows]
  let milliseconds: Int64

  /// Adds a row; columns that are not named stand at their default.
  ///
  /// - Throws: ``MemoryWriteError``, also for a key that is taken.
  package mutating func insert(_ table: String, _ row: [String: SQLiteValue]) throws {
    let (index, key, columns) = try resolve(table, row)
    guard tables[index].row(key).shown == nil else {
      throw MemoryWriteError(.exists, table: table)
    }
    var values = tables[index].defaults
    for (column, value) in columns { values[column] = value }
    try checkUnique(index, key, values)
    put(index, key, values, written: Set(values.indices))
  }

  /// Adds a row, or writes over the one with its key, and removes the rows that hold the same in
  /// columns that are unique together: as `INSERT OR REPLACE` does.
  ///
  /// - Throws: ``MemoryWriteError``.
  package mutating func replace(_ table: String, _ row: [String: SQLiteValue]) throws {
    let (index, key, columns) = try resolve(table, row)
    var values = tables[index].defaults
    for (column, value) in columns { values[column] = value }
    for rival in tables[index].rivals(of: key, values) { put(index, rival, nil, written: []) }
    put(index, key, values, written: Set(values.indices))
  }

  /// Changes the named columns of a row; does nothing where there is no such row, as in SQL.
  ///
  /// - Throws: ``MemoryWriteError``.
  package mutating func update(_ table: String, _ row: [String: SQLiteValue]) throws {
    let (index, key, columns) = try resolve(table, row)
    guard var values = tables[index].row(key).shown else { return }
    var changed: Set<Int> = []
    for (column, value) in columns where values[column] != value {
      values[column] = value
      changed.insert(column)
    }
    try checkUnique(index, key, values)
    put(index, key, values, written: changed)
  }

  /// Removes a row; does nothing where there is no such row, as in SQL.
  ///
  /// - Throws: ``MemoryWriteError``.
  package mutating func delete(_ table: String, _ row: [String: SQLiteValue]) throws {
    let (index, key, _) = try resolve(table, row)
    guard tables[index].row(key).shown != nil else { return }
    put(index, key, nil, written: [])
  }

  private func checkUnique(_ index: Int, _ key: [UInt8], _ values: [SQLiteValue]) throws {
    if tables[index].rivals(of: key, values).isEmpty { return }
    throw MemoryWriteError(.notUnique, table: tables[index].shape.name)
  }

  private mutating func put(
    _ index: Int, _ key: [UInt8], _ values: [SQLiteValue]?, written: Set<Int>
  ) {
    var row = tables[index].row(key)
    row.gone = values == nil ? row.shown : nil
    row.wasHeld = row.wasHeld || row.isHeld
    // What came and went while the row was quarantined says nothing of it.
    row.isHeld = values == nil && row.wasHeld
    if row.isHeld { (row.gone, row.wasHeld) = (nil, false) }
    row.shown = values
    tables[index].rows[key] = row
    tables[index].notes.append(.init(key: key, columns: written, milliseconds: milliseconds))
  }

  private func resolve(_ table: String, _ row: [String: SQLiteValue]) throws
    -> (index: Int, key: [UInt8], columns: [(Int, SQLiteValue)])
  {
    guard let index = tables.firstIndex(where: { $0.shape.name.folded == table.folded }) else {
      throw MemoryWriteError(.unknownTable, table: table)
    }
    let shape = tables[index].shape
    let named = Dictionary(uniqueKeysWithValues: row.map { ($0.key.folded, $0.value) })
    let key = try shape.keyColumns.map { name in
      guard let value = named[name.folded], value != .null else {
        throw MemoryWriteError(.missingKey, table: table, column: name)
      }
      return value
    }
    let keyNames = Set(shape.keyColumns.map(\.folded))
    let columns = try row.filter { !keyNames.contains($0.key.folded) }.map { name, value in
      guard let column = shape.columns.firstIndex(where: { $0.name.folded == name.folded }) else {
        throw MemoryWriteError(.unknownColumn, table: table, column: name)
      }
      if shape.columns[column].rule == .counter {
        guard case .integer = value else {
          throw MemoryWriteError(.notANumber, table: table, column: name)
        }
      }
      if shape.columns[column].rule == .set {
        do { _ = try Self.elements(value) } catch {
          throw MemoryWriteError(.notASet, table: table, column: name)
        }
      }
      if shape.columns[column].rule == .text, value.string == nil {
        throw MemoryWriteError(.notAText, table: table, column: name)
      }
      return (column, value)
    }
    return (index, tables[index].packed(key), columns)
  }
}

extension MemoryWriter {
  private enum Element: Decodable {
    case value(SQLiteValue)

    init(from decoder: any Decoder) throws {
      let container = try decoder.singleValueContainer()
      // What is neither of the first two has to be the third.
      if let number = try? container.decode(Int64.self) {
        self = .value(.integer(number))
      } else if let number = try? container.decode(Double.self) {
        self = .value(.real(number))
      } else {
        self = .value(.string(try container.decode(String.self)))
      }
    }
  }

  /// The elements of a set's column.
  ///
  /// - Throws: `DecodingError` for what is no JSON array of texts and numbers.
  static func elements(_ value: SQLiteValue) throws -> [SQLiteValue] {
    let text = if case .text(let bytes) = value { Data(bytes) } else { Data() }
    return try JSONDecoder().decode([Element].self, from: text).compactMap { element in
      if case .value(let value) = element { ElementSet.element(value) } else { nil }
    }
  }
}
