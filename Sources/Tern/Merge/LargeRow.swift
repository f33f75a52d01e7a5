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
    of column: TableShape.Column, showing shown: Value, from old: RowState?, to new: RowState?,
    in transaction: StoreTransaction
  ) throws -> Value? {
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
      guard before != after, let written = try SetText.elements(of: shown, in: transaction) else {
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

  private func elements(of column: UInt32, in state: RowState?) -> Set<Value> {
    Set(state?.elements(of: column).elements ?? [])
  }
}

extension StoreTransaction {
  /// The rows of a table that are too large to travel, by their packed key.
  func largeRowsByKey(of table: Int64) throws -> [[UInt8]: LargeRow] {
    guard large.hasRows else { return [:] }
    return Dictionary(
      uniqueKeysWithValues: try large.rows(of: table).map {
        ($0.key, LargeRow(columns: $0.columns))
      }
    )
  }
}

extension RowState {
  /// The state that a row is written on top of, as long as that row is there.
  var ifPresent: RowState? { isPresent ? self : nil }
}

extension ElementSet {
  /// As one operation adds them to an empty set.
  fileprivate init(showing elements: Set<Value>) {
    self.init()
    if let change = change(to: Array(elements)) {
      _ = apply(change, by: ReplicaID(high: 0, low: 0), Turn(1))
    }
  }
}
