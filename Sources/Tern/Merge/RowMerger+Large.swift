import TernCore
import TernDatabase

extension RowMerger {
  /// Leaves out of a change what was written to its row here and is too large to travel.
  ///
  /// - Returns: whether the change is projected with that. Otherwise ``columns`` and ``values`` are
  ///   what is left of it.
  func leaveOutLarge(
    _ key: UnsafeRawBufferPointer, _ effect: RowEffect, _ state: RowState, _ old: RowState?
  ) throws -> Bool {
    guard let large = large[Array(key)] else { return false }
    let shown = try writer.read(key)
    switch effect {
    case .ends, .beaten: return false
    // What was written was the end of the life before.
    case .begins where old?.isPresent ?? false: return false
    case .begins:
      let held = try transaction.held.content(in: .held, shape.id, key)
      guard let here = shown ?? held.map(shape.present) else { return false }
      try leaveOut(large, showing: here, from: nil, to: state)
      try writer.forget(key)
      let content = writer.named(columns, values)
      let whole = shown == nil ? here.merging(content) { $1 } : content
      if let reason = reason(state) {
        try writer.hold(key, reason, adding: whole)
      } else if !whole.isEmpty {
        try writer.write(key, content: whole)
      }
      return true
    case .stays:
      guard let here = try shown ?? writer.aside(key) else { return false }
      // A delete of what was written here as a row of its own.
      if old == nil { return true }
      try leaveOut(large, showing: here, from: old?.ifPresent, to: state)
      return false
    }
  }

  private func leaveOut(
    _ large: LargeRow, showing here: [String: SQLiteValue], from old: RowState?, to new: RowState
  ) throws {
    for index in columns.indices.reversed() {
      let column = shape.columns[columns[index]]
      guard large.columns.contains(column) else { continue }
      let value = try large.value(
        of: column, showing: here[column.name] ?? .null, from: old, to: new, in: transaction)
      if let value {
        values[index] = .computed(value)
      } else {
        columns.remove(at: index)
        values.remove(at: index)
      }
    }
  }
}
