/// The order in which rows quarantined are shown: each once the rows stand that it refers to, so
/// that few are written that have to go again. Those that refer to each other in circles come last.
struct HeldQueue {
  /// What a row refers to that is not in its table.
  struct Needs {
    var rows: Set<RowID> = []
    /// Tables of which it cannot be told by a key which row is meant.
    var tables: Set<Int64> = []

    var isEmpty: Bool { rows.isEmpty && tables.isEmpty }
  }

  /// Rows that were not taken yet, and did not fall.
  private var pending: [RowID: Needs] = [:]
  private var counts: [Int64: Int] = [:]
  /// By row, those that need it.
  private var children: [RowID: [RowID]] = [:]
  private var rows: [RowID] = []
  private var ready: [RowID] = []
  private var readyIndex = 0
  private var circleIndex = 0

  mutating func add(_ row: RowID, _ needs: Needs) {
    rows.append(row)
    pending[row] = needs
    counts[row.table, default: 0] += 1
    for parent in needs.rows { children[parent, default: []].append(row) }
    if needs.isEmpty { ready.append(row) }
  }

  /// Has those fall that need a row which was not added.
  mutating func begin() {
    for row in rows {
      guard let needs = pending[row] else { continue }
      if needs.rows.contains(where: { pending[$0] == nil }) { fell(row) }
    }
  }

  /// A row that needs nothing any more.
  mutating func next() -> RowID? {
    while readyIndex < ready.count {
      readyIndex += 1
      if take(ready[readyIndex - 1]) { return ready[readyIndex - 1] }
    }
    return nil
  }

  /// One of those that need each other, once there is no other.
  mutating func nextOfCircle() -> RowID? {
    while circleIndex < rows.count {
      circleIndex += 1
      if take(rows[circleIndex - 1]) { return rows[circleIndex - 1] }
    }
    return nil
  }

  private mutating func take(_ row: RowID) -> Bool {
    guard pending.removeValue(forKey: row) != nil else { return false }
    counts[row.table]! -= 1
    return true
  }

  /// A row that was taken stands.
  mutating func came(_ row: RowID) {
    came(row) { _ in true }
  }

  /// A row that was taken may stand later: enough for some of those that need it, and too late for
  /// the others.
  mutating func came(_ row: RowID, isEnough: (RowID) -> Bool) {
    for child in children[row] ?? [] {
      guard pending[child]?.rows.contains(row) ?? false else { continue }
      if isEnough(child) {
        pending[child]!.rows.remove(row)
        if pending[child]!.isEmpty { ready.append(child) }
      } else {
        fell(child)
      }
    }
  }

  /// A row cannot stand: nor can those that need it.
  mutating func fell(_ row: RowID) {
    var fallen = [row]
    while let row = fallen.popLast() {
      _ = take(row)
      fallen += (children[row] ?? []).filter { pending[$0]?.rows.contains(row) ?? false }
    }
  }

  // MARK: - Needs that no key names

  /// Those that need some row of a table.
  var undecided: [RowID] { rows.filter { !(pending[$0]?.tables.isEmpty ?? true) } }

  func isPending(_ row: RowID) -> Bool { pending[row] != nil }

  func hasPending(of table: Int64) -> Bool { counts[table, default: 0] > 0 }

  /// What a row needs now, of what it needed before.
  ///
  /// - Returns: whether that is nothing any more.
  mutating func reduce(_ row: RowID, to needs: Needs) -> Bool {
    pending[row] = needs
    if needs.isEmpty { ready.append(row) }
    return needs.isEmpty
  }
}
