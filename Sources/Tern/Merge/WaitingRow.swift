import TernCore
import TernDatabase

/// A row of the state that only a UNIQUE index keeps out of its table.
struct WaitingRow {
  let sql: TableSQL
  let key: [UInt8]
  let content: [String: SQLiteValue]
  let creation: Creation
  /// It is in its table all the same, and points to another.
  var isFolded = false
}

/// The order in which rows that collide in a UNIQUE index are walked: by the stamp of the insert
/// that stands, then by key. Every replica has the same (INV-01).
struct Creation: Comparable {
  /// It stands in the table and in no operation: it yields to every row that others know.
  private let isUnsynced: Bool
  private let time: HybridTime
  private let author: ReplicaID
  private let key: [UInt8]

  init(_ state: RowState?, key: [UInt8], authors: Authors) {
    isUnsynced = state == nil
    time = state?.stamp.time ?? .zero
    author = authors.ids[Int(state?.stamp.author ?? 0)]
    self.key = key
  }

  static func < (left: Creation, right: Creation) -> Bool {
    if left.isUnsynced != right.isUnsynced { return right.isUnsynced }
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
  func state(of key: [UInt8]) throws -> RowState? {
    let read = try transaction.statement(sql.readState)
    _ = try bind(key, to: read)
    return try read.state()
  }

  func creation(of key: [UInt8]) throws -> Creation {
    Creation(try state(of: key), key: key, authors: transaction.authors)
  }
}

extension TableShape {
  /// The values of a row's columns, the key's included, by folded name.
  func values(_ key: [UInt8], _ content: [String: SQLiteValue]) throws -> [String: SQLiteValue] {
    var values = Dictionary(content.map { ($0.key.folded, $0.value) }, uniquingKeysWith: { $1 })
    let keys = try key.withUnsafeBytes { try PackedKey.values($0) }
    for (name, value) in zip(keyColumns, keys) { values[name.folded] = value }
    return values
  }
}
