import GRDB
import TernCore

extension Replica {
  /// Moves a row to a place in its list, inside the caller's transaction.
  ///
  /// ```swift
  /// try await database.write { db in
  ///   _ = try replica.move("task", key: ["t7"], to: .after("t2"), in: db)
  /// }
  /// ```
  ///
  /// It writes the row's order column; where there is no room for a key of 48 bytes, or a neighbour
  /// has none, it gives neighbours new keys too, in the order in which they stand: these are writes
  /// like any other. Rows that two devices move to one spot at the same time stand beside each
  /// other there, in the same order everywhere; of two moves of one row the later stays.
  ///
  /// Cost: two searches for neighbours, each a pass over the table where no index begins with the
  /// scope's columns and the order column.
  ///
  /// - Parameters:
  ///   - key: a value for each column of the primary key, in its order and with the table's types.
  ///   - scope: columns and their values that tell the list's rows from those of other lists in
  ///     the table. Left out, the whole table is one list.
  ///   - column: the order column, where the table has several.
  /// - Returns: the key that the row has now.
  /// - Throws: ``RowLookupError`` for a table or column without an order, and for a row that the
  ///   table does not hold; `DatabaseError`.
  @discardableResult
  public func move(
    _ table: String, key: [SQLiteValue], to place: OrderPlace, scope: [String: SQLiteValue] = [:],
    column: String? = nil, in db: Database
  ) throws -> OrderKey {
    let list = try list(table, scope, column, moving: key, db)
    guard try list.row(key) != nil else { throw list.missing(key) }
    let orderKey = try makeRoom(at: place, in: list)
    try list.write(orderKey, to: key)
    return orderKey
  }

  /// A key for a row that is about to be inserted at a place, inside the caller's transaction.
  ///
  /// ```swift
  /// try await database.write { db in
  ///   let position = try replica.orderKey("task", at: .last, in: db)
  ///   try db.execute(
  ///     sql: "INSERT INTO task (id, title, position) VALUES (?, ?, ?)",
  ///     arguments: ["t8", "Sail", position.text])
  /// }
  /// ```
  ///
  /// Gives neighbours new keys where ``move(_:key:to:scope:column:in:)`` does; the parameters are
  /// the same.
  ///
  /// - Throws: ``RowLookupError`` for a table or column without an order, and for a neighbour that
  ///   the table does not hold; `DatabaseError`.
  public func orderKey(
    _ table: String, at place: OrderPlace, scope: [String: SQLiteValue] = [:],
    column: String? = nil,
    in db: Database
  ) throws -> OrderKey {
    try makeRoom(at: place, in: list(table, scope, column, moving: nil, db))
  }

  private func list(
    _ table: String, _ scope: [String: SQLiteValue], _ column: String?, moving: [SQLiteValue]?,
    _ db: Database
  ) throws -> OrderedList {
    let shape = try store.sql.table(table).shape
    let ordered = shape.columns.filter { $0.rule == .order }.map(\.name)
    let found = ordered.filter { name in column.map { $0.folded == name.folded } ?? true }
    guard found.count == 1 else {
      let names = ordered.isEmpty ? "none" : ordered.joined(separator: ", ")
      throw RowLookupError(
        .noOrder, table: shape.name,
        "name one of its columns that merge by .order; it has \(names)")
    }
    if let moving { _ = try LoggedRow(shape, key: moving) }
    return OrderedList(
      db: db, shape: shape, column: found[0],
      scope: scope.sorted { $0.key < $1.key }.map { (column: $0.key, value: $0.value) },
      moving: moving)
  }

  /// - Returns: the key of the place, after its neighbours got theirs.
  private func makeRoom(at place: OrderPlace, in list: OrderedList) throws -> OrderKey {
    var generator = OrderGenerator(draw: random)
    var count = 1
    while true {
      let (left, right) = try list.neighbours(of: place, count: count)
      let decision = OrderPlacement.decide(
        list.side(left, count: count), list.side(right, count: count), using: &generator)
      switch decision {
      case .needs(let more): count = more
      case .place(let key, let lefts, let rights):
        for (row, key) in zip(left, lefts) { try list.write(key, to: row.key) }
        for (row, key) in zip(right, rights) { try list.write(key, to: row.key) }
        return key
      }
    }
  }
}

extension OrderedList {
  fileprivate func missing(_ key: [SQLiteValue]) -> RowLookupError {
    RowLookupError(
      .missingRow, table: shape.name,
      "it holds no row with the key given, or that row is the one that moves; look whether it was "
        + "deleted or is quarantined")
  }

  fileprivate func side(_ rows: [Neighbour], count: Int) -> OrderPlacement.Side {
    OrderPlacement.Side(keys: rows.map(\.orderKey), isWhole: rows.count < count)
  }

  /// The rows before and behind a place, the nearest first, up to `count` of each.
  fileprivate func neighbours(of place: OrderPlace, count: Int) throws
    -> (left: [Neighbour], right: [Neighbour])
  {
    switch place.kind {
    case .first: return ([], try rows(fromStart: true, limit: count))
    case .last: return (try rows(fromStart: false, limit: count), [])
    case .after(let key):
      let row = try anchor(key)
      return (
        [row] + (try rows(from: row, isForward: false, limit: count - 1)),
        try rows(from: row, isForward: true, limit: count)
      )
    case .before(let key):
      let row = try anchor(key)
      return (
        try rows(from: row, isForward: false, limit: count),
        [row] + (try rows(from: row, isForward: true, limit: count - 1))
      )
    }
  }

  private func anchor(_ place: RowKey) throws -> Neighbour {
    let key = try place.values(in: shape)
    let packed = try LoggedRow(shape, key: key).packedKey
    guard try moving.map({ try LoggedRow(shape, key: $0).packedKey }) != packed,
      let row = try row(key)
    else { throw missing(key) }
    return row
  }
}

/// What a replica draws the tails of order keys from.
private struct OrderGenerator: RandomNumberGenerator {
  let draw: @Sendable () -> UInt64

  func next() -> UInt64 { draw() }
}
