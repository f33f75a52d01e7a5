import TernDatabase

/// The rows of one table that were written and not sealed: their tables may differ from the state.
struct NotedKeys {
  private static let limit = 100_000
  let count: Int
  private let keys: Set<[UInt8]>

  init(_ sql: TableSQL, _ transaction: StoreTransaction) throws {
    count = try transaction.notes.count(sql)
    guard (1...Self.limit).contains(count) else {
      keys = []
      return
    }
    let names = sql.note.keyNames.joined(separator: ", ")
    let select = try transaction.statement("SELECT \(names) FROM \(sql.note.noteTable)")
    defer { select.reset() }
    var keys: Set<[UInt8]> = []
    while try select.step() { keys.insert(select.packedKey(sql.shape)) }
    self.keys = keys
  }

  /// So many that they are not looked at one by one.
  var isOver: Bool { count > Self.limit }

  func contains(_ key: [UInt8]) -> Bool { isOver || keys.contains(key) }
}
