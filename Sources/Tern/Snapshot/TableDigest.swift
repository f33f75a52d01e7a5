import TernCore
import TernDatabase

/// Reads the merged state of one table, row by row, into a number that is equal on every replica
/// with the same operations: it is made of what ``CanonicalRow`` holds, whatever the state's
/// numbers of authors and columns are, and is a sum, so that rows come in any order.
struct TableDigest {
  private let transaction: StoreTransaction
  private let sql: TableSQL
  private let writer: TableWriter
  private let refused: Set<[UInt8]>
  /// By name, in which the columns of all replicas have one order.
  private let columns: [(offset: Int32, id: UInt32, name: String)]
  private var content = ByteWriter()

  init(_ transaction: StoreTransaction, _ sql: TableSQL) throws {
    (self.transaction, self.sql) = (transaction, sql)
    writer = try TableWriter(transaction, sql, hasHeld: true)
    refused = try transaction.held.refusedRemovals(of: sql.shape.id)
    columns = sql.shape.columns.enumerated()
      .map { (Int32($0.offset), UInt32($0.element.id), $0.element.name) }
      .sorted { $0.2.folded < $1.2.folded }
  }

  mutating func run() throws -> StateReport.Digest {
    appendShape()
    let shape = hash()
    do {
      return StateReport.Digest(shape: shape, rows: try rows())
    } catch is WireError {
      // Damage that cannot be read differs from whatever can.
      return StateReport.Digest(shape: shape, rows: .max)
    }
  }

  private mutating func rows() throws -> UInt64 {
    let keyCount = Int32(sql.shape.keyColumns.count)
    let select = try transaction.statement(sql.readAllRows)
    defer { select.reset() }
    var rows: UInt64 = 0
    while try select.step() {
      guard let state = try select.state(from: keyCount) else { continue }
      try append(state, select, keyCount)
      rows &+= hash()
    }
    return rows
  }

  private func hash() -> UInt64 {
    content.bytes.withUnsafeBytes { KeyHash.of($0) }
  }

  private mutating func appendShape() {
    content.removeAll()
    let block = sql.shape.block
    let shape = BodyBlock(
      table: block.table.folded, deletes: block.deletes,
      keyColumns: block.keyColumns.map(\.folded),
      columns: block.columns.map { .init(name: $0.name.folded, rule: $0.rule) }
        .sorted { $0.name < $1.name })
    // Another version may have rewritten what stands here.
    content.append(varint: UInt64(transaction.schemaVersion))
    content.append(block: shape)
  }

  private mutating func append(_ state: RowState, _ select: FastStatement, _ keyCount: Int32) throws
  {
    content.removeAll()
    for index in 0..<keyCount { content.append(key: select.value(index)) }
    content.append(varint: UInt64(state.life))
    try append(state.stamp)
    content.append(byte: state.isDeleted ? 1 : 0)
    try append(state.presence?.deletion ?? .zero)
    guard state.isAlive else { return }
    let isShown =
      !select.isNull(keyCount + 5)
      && (refused.isEmpty || !refused.contains(select.packedKey(sql.shape)))
    // What is quarantined has its values there.
    let aside = isShown ? nil : try writer.aside(select.packedKey(sql.shape))
    let lifted =
      try isShown && transaction.veils.hasRows() ? liftedRow(select.packedKey(sql.shape)) : nil
    // Neither there nor here: somebody took it away.
    content.append(byte: state.isShown && !isShown && aside == nil ? 1 : 0)
    for (place, column) in columns.enumerated() {
      guard let stamp = state.stamp(of: column.id) else { continue }
      content.append(varint: UInt64(place))
      try append(stamp)
      // What the table shows, also where the state could say it.
      if let lifted {
        content.append(lifted[column.name] ?? .null)
      } else if isShown {
        content.append(select.value(keyCount + 6 + column.offset))
      } else {
        content.append(state.computed(column.id) ?? aside?[column.name] ?? .null)
      }
    }
  }

  /// What the state has of a row that shows something else.
  private func liftedRow(_ key: [UInt8]) throws -> [String: SQLiteValue]? {
    try writer.veil(of: key) == nil ? nil : writer.read(key)
  }

  private mutating func append(_ stamp: Stamp) throws {
    content.append(fixed: stamp.time.rawValue)
    if stamp == .zero { return }
    if Planted.isActive(.digestByNumber) { return content.append(varint: UInt64(stamp.author)) }
    guard stamp.author < transaction.authors.ids.count else {
      throw WireError(.malformed, "an author of the state")
    }
    content.append(replica: transaction.authors.ids[Int(stamp.author)])
  }
}

extension TableDigest {
  /// Of each table that syncs.
  static func all(in transaction: StoreTransaction) throws -> [String: StateReport.Digest] {
    try transaction.sql.reduce(into: [:]) { digests, sql in
      var digest = try TableDigest(transaction, sql)
      digests[sql.shape.name.folded] = try digest.run()
    }
  }
}
