import TernCore
import TernDatabase

/// A row that was written here and that no operation can hold, where a merge or a
/// snapshot meets it.
///
/// What was written stands: it is later than all that the state has, and travels once it is short
/// enough. Until then the table alone has it.
struct LargeRow {
  /// Those that were written here, and whose values are in no state.
  let columns: ColumnMask

  /// What such a column shows once its state has changed: the next seal takes the difference
  /// between the two, so that where values add up, both changes are in it.
  ///
  /// - Parameters:
  ///   - shown: what it shows now.
  ///   - old: the state that the row was written on top of, `nil` for none.
  /// - Returns: `nil` where it stays as it is.
  func value(
    of column: TableShape.Column, showing shown: SQLiteValue, from old: RowState?,
    to new: RowState?,
    in transaction: StoreTransaction
  ) throws -> SQLiteValue? {
    let id = UInt32(column.id)
    switch column.rule.kind {
    case .lastWriter, .order, .maximum, .minimum: return nil
    case .counter:
      guard case .integer(let written) = shown else { return nil }
      let difference =
        Int128(Int64(clamping: new?.sum(of: id) ?? 0))
        - Int128(Int64(clamping: old?.sum(of: id) ?? 0))
      return difference == 0 ? nil : .integer(Int64(clamping: Int128(written) + difference))
    case .set:
      let (before, after) = (elements(of: id, in: old), elements(of: id, in: new))
      guard before != after,
        let written = try SetText.elements(of: shown, in: transaction.connection)
      else {
        return nil
      }
      let merged = Set(written).union(after.subtracting(before))
        .subtracting(before.subtracting(after))
      return ElementSet(showing: merged).json
    case .text:
      let (before, after) = (old?.text(of: id)?.shown ?? [], new?.text(of: id)?.shown ?? [])
      guard before != after, case .text(let bytes) = shown else { return nil }
      let written = Array(String(decoding: bytes, as: UTF8.self).utf8)
      let change = TextDelta(from: before, to: written)
      return .text(
        change.transformed(over: TextDelta(from: before, to: after)).applied(to: after) ?? written)
    }
  }

  private func elements(of column: UInt32, in state: RowState?) -> Set<SQLiteValue> {
    Set(state?.elements(of: column).elements ?? [])
  }
}

extension LargeRow {
  /// The rows of a table that are too large to travel, by their packed key.
  static func all(of table: Int64, in transaction: StoreTransaction) throws -> [[UInt8]: LargeRow] {
    guard transaction.large.hasRows else { return [:] }
    return Dictionary(
      uniqueKeysWithValues: try transaction.large.rows(of: table).map {
        ($0.key, LargeRow(columns: $0.columns))
      }
    )
  }

  /// A merge may have deleted what waited. What it quarantined, or keeps, comes back one day; what
  /// the state shows and no table has was deleted here, in a life that does not travel.
  static func forgetThoseThatWent(in transaction: StoreTransaction) throws {
    for sql in transaction.sql {
      let rows = try transaction.large.rows(of: sql.shape.id)
      if rows.isEmpty { continue }
      let read = try transaction.statement(sql.read)
      for row in rows {
        let id = sql.shape.id
        let key = try row.key.withUnsafeBytes { try PackedKey.values($0) }
        for (index, value) in key.enumerated() { read.bind(Int32(index + 1), copy: value) }
        let state = { try transaction.states.state(of: key, sql) }
        if try read.first({}) != nil || state()?.isShown ?? false { continue }
        let held = transaction.held
        if try !held.holds(id, row.key) && held.content(in: .kept, id, row.key) == nil {
          try transaction.large.forget(row.key, of: id)
        }
      }
    }
  }
}

extension ElementSet {
  /// As one operation adds them to an empty set.
  fileprivate init(showing elements: Set<SQLiteValue>) {
    self.init()
    if let change = change(to: Array(elements)) {
      _ = apply(change, by: ReplicaID(high: 0, low: 0), Turn(1))
    }
  }
}
