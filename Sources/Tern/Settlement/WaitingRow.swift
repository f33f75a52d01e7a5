import TernCore
import TernDatabase

/// A row of the state that only a UNIQUE index keeps out of its table.
struct WaitingRow {
  let sql: TableSQL
  let key: [UInt8]
  /// As its table would show it.
  let content: [String: SQLiteValue]
  let creation: Creation
  /// What it would not show.
  var veil: Veil?
  /// It is in its table all the same, and points to another.
  var isFolded = false

  /// What the state has of it.
  var held: [String: SQLiteValue] { veil?.lifted(over: content) ?? content }
}

/// The order in which rows that collide in a UNIQUE index are walked: by the stamp of the insert
/// that stands, then by key. Every replica has the same (INV-01).
struct Creation: Comparable {
  /// It stands in the table and in no operation: it yields to every row that others know.
  private let isUnsynced: Bool
  /// A veil gave it its place: nobody wrote that, and it yields to what somebody wrote.
  private let isVeiled: Bool
  private let time: HybridTime
  private let author: ReplicaID
  private let key: [UInt8]

  init(_ state: RowState?, key: [UInt8], isVeiled: Bool, authors: Authors) {
    isUnsynced = state == nil
    self.isVeiled = isVeiled
    time = state?.stamp.time ?? .zero
    author = authors.ids[Int(state?.stamp.author ?? 0)]
    self.key = key
  }

  static func < (left: Creation, right: Creation) -> Bool {
    if left.isUnsynced != right.isUnsynced { return right.isUnsynced }
    if left.isVeiled != right.isVeiled { return right.isVeiled }
    if left.time != right.time { return left.time < right.time }
    if left.author != right.author { return left.author < right.author }
    return left.key.lexicographicallyPrecedes(right.key)
  }
}

/// The rows of a walk, in the order of their creation: those with which it begins, and those whose
/// turn comes again meanwhile, however many.
struct WalkQueue {
  private var rows: ArraySlice<WaitingRow>
  /// A binary heap, with the earliest first.
  private var added: [WaitingRow] = []

  init(_ rows: some Sequence<WaitingRow>) {
    self.rows = rows.sorted { $0.creation < $1.creation }[...]
  }

  mutating func add(_ row: WaitingRow) {
    added.append(row)
    var child = added.count - 1
    while child > 0, added[child].creation < added[(child - 1) / 2].creation {
      added.swapAt(child, (child - 1) / 2)
      child = (child - 1) / 2
    }
  }

  mutating func next() -> WaitingRow? {
    guard let first = added.first, rows.first.map({ first.creation < $0.creation }) ?? true else {
      return rows.popFirst()
    }
    added[0] = added[added.count - 1]
    added.removeLast()
    var parent = 0
    while true {
      let children = (2 * parent + 1..<2 * parent + 3).clamped(to: added.indices)
      guard let child = children.min(by: { added[$0].creation < added[$1].creation }),
        added[child].creation < added[parent].creation
      else { return first }
      added.swapAt(parent, child)
      parent = child
    }
  }
}

extension TableWriter {
  /// - Parameter veil: of a row that is not in its table.
  func creation(of key: [UInt8], veil: Veil? = nil) throws -> Creation {
    let veil = try veil ?? self.veil(of: key)
    return Creation(
      try state(of: key), key: key, isVeiled: veil.map { sql.shape.isPlaced(by: $0) } ?? false,
      authors: transaction.authors)
  }
}

extension TableShape {
  /// Whether a place in a UNIQUE index depends on what a veil shows.
  func isPlaced(by veil: Veil) -> Bool {
    if Planted.isActive(.veilDisplaces) { return false }
    let veiled = Set(veil.columns.map(\.name.folded))
    return uniques.contains { $0.columns.contains { veiled.contains($0.name.folded) } }
  }

  /// The values of a row's columns, the key's included, by folded name.
  func values(_ key: [UInt8], _ content: [String: SQLiteValue]) throws -> [String: SQLiteValue] {
    var values = Dictionary(content.map { ($0.key.folded, $0.value) }, uniquingKeysWith: { $1 })
    let keys = try key.withUnsafeBytes { try PackedKey.values($0) }
    for (name, value) in zip(keyColumns, keys) { values[name.folded] = value }
    return values
  }
}
