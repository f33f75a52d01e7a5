import TernCore
import TernDatabase

/// A column that two authors wrote without knowing of each other.
struct MetColumn {
  /// Among the shape's columns.
  let target: Int
  /// Among the arriving ones.
  let source: Int
  /// Of the write that stood.
  let standing: Stamp
  /// Whether both wrote it by inserting the row.
  let isInsert: Bool
}

extension RowMerger {
  /// Keeps, of columns that two wrote at once, what lost. The table still holds what stood there.
  func keepLosers(
    among met: [MetColumn], _ row: BodyRow, _ state: RowState, _ stamp: Stamp, _ losses: Losses
  ) throws {
    guard losses.isKeeping, state.isPresent else { return }
    let shown = try writer.standing(row.packedKey) ?? [:]
    let large = large.isEmpty ? nil : large[Array(row.packedKey)]
    var lost: [Loss: [String: SQLiteValue]] = [:]
    for column in met {
      let name = shape.columns[column.target].name
      let (old, new) = (shown[name] ?? .null, row.values[column.source].value ?? .null)
      if old == new { continue }
      let isBeaten = state.stamp(of: UInt32(shape.columns[column.target].id)) == stamp
      // What is shown was written over what stood, and stays.
      if isBeaten, large?.columns.contains(shape.columns[column.target]) ?? false { continue }
      let loss = Loss(
        kind: column.isInsert ? .sameKey : .lastWriter, loser: isBeaten ? column.standing : stamp,
        winner: isBeaten ? stamp : column.standing)
      let value = isBeaten ? old : new
      // An insert writes every column, those too that nobody named.
      if column.isInsert, value == .null { continue }
      lost[loss, default: [:]][name] = value
    }
    let inOrder = lost.sorted {
      ($0.key.loser.time, $0.key.winner.time) < ($1.key.loser.time, $1.key.winner.time)
    }
    for (loss, values) in inOrder {
      try losses.add(
        shape, row.packedKey, loss.kind, values, loser: loss.loser, winner: loss.winner)
    }
  }

  private struct Loss: Hashable {
    let kind: ConflictKind
    let loser: Stamp
    let winner: Stamp
  }

  /// Keeps what a row held that a delete removes, or would have held.
  ///
  /// - Parameter unseen: the columns that were written without the delete's author knowing.
  func keepDeleted(
    _ row: BodyRow, _ stamp: Stamp, loser: Stamp, unseen: [String], _ losses: Losses
  ) throws {
    guard losses.isKeeping, !unseen.allSatisfy(shape.isAutomatic) else { return }
    let content = try writer.standing(row.packedKey) ?? [:]
    try losses.add(shape, row.packedKey, .deleteWins, content, loser: loser, winner: stamp)
  }

  /// Keeps a change that comes to a row that is deleted.
  func keepLate(
    _ row: BodyRow, _ mapping: BlockMapping, _ stamp: Stamp, deletion: Stamp, _ losses: Losses
  ) throws {
    var values: [String: SQLiteValue] = [:]
    for (source, target) in mapping.targets.enumerated() where source < row.values.count {
      guard let target, row.isCarried[source] else { continue }
      let column = shape.columns[target]
      switch column.rule.kind {
      // What travels of these is a difference to what is gone.
      case .counter, .set, .text: continue
      case .lastWriter, .order, .maximum, .minimum: values[column.name] = row.values[source].value
      }
    }
    try losses.add(shape, row.packedKey, .deleteWins, values, loser: stamp, winner: deletion)
  }
}
