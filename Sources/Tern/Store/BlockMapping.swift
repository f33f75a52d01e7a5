import TernCore

/// How a block's columns map to this table's.
struct BlockMapping {
  /// For each block column the index of the shape's column, or `nil` to pass it over.
  var targets: [Int?]
  /// For each of the shape's columns its place in the block, when the block has them all.
  var order: [Int]?
  /// Only columns are wanted, of a row that was merged before: the replay of what was deferred.
  var isReplay = false

  /// The places of the block's columns that this table does not have.
  var unknown: [Int] { targets.indices.filter { targets[$0] == nil } }
}

extension TableShape {
  /// Whether a block's rows are this table's: under its key and its delete rule.
  func holdsRows(of block: BodyBlock) -> Bool {
    isNamed(block.table) && deletes.kind.rawValue == block.deletes
      && isKeyed(by: block.keyColumns)
  }

  /// Where a block's columns stand here, under their name or one that they had before; a column
  /// of another rule counts as unknown.
  func mapping(of block: BodyBlock) -> BlockMapping {
    var targets = block.columns.map { column in
      columns.firstIndex {
        $0.name.folded == column.name.folded && $0.rule.kind.rawValue == column.rule
      }
    }
    for (target, column) in columns.enumerated()
    where !column.formerNames.isEmpty && !targets.contains(target) {
      let former = Set(column.formerNames.map(\.folded))
      let source = block.columns.indices.first {
        targets[$0] == nil && former.contains(block.columns[$0].name.folded)
          && block.columns[$0].rule == column.rule.kind.rawValue
      }
      if let source { targets[source] = target }
    }
    let order = columns.indices.map { column in targets.firstIndex { $0 == column } }
    let isExact = !order.contains(nil) && targets.count == columns.count
    return BlockMapping(targets: targets, order: isExact ? order.compactMap { $0 } : nil)
  }
}
