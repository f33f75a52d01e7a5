#if Server

/// A database inside a transaction, as far as ``RawRows`` needs it.
package protocol RowDatabase {
  /// Runs one statement with the parameters `$1`, `$2` and so on. There is no other `$` in it.
  func run(_ sql: String, _ values: [RawParameter]) throws -> [[StoredValue]]

  /// The name of a table in SQL.
  func table(_ name: String) -> String

  /// Whether the bytes of operations are in a table of their own, `operation_bytes`.
  var keepsBytesApart: Bool { get }
}

/// A value for a statement, and what it is where it is none.
package struct RawParameter {
  let value: StoredValue
  let kind: SpaceTable.Column.Kind

  init(_ value: StoredValue, _ kind: SpaceTable.Column.Kind) {
    (self.value, self.kind) = (value, kind)
  }

  init(_ number: Int64) { self.init(.integer(number), .integer) }
}

/// The rows of one space as they are stored, whatever they say: what moves to another store, and
/// what the doctor copies. Used inside the transaction that made it.
package struct RawRows {
  let db: any RowDatabase
  /// The space's number in its store.
  let space: Int64

  private var owner: RawParameter { RawParameter(space) }

  /// All rows of a table of which a space has few, in their order.
  package func rows(of table: SpaceTable) throws -> [[StoredValue]] {
    let (column, order) =
      table == .space ? ("id", "") : ("space", "ORDER BY \(table.columns[0].name)")
    return try db.run(
      "SELECT \(table.names) FROM \(db.table(table.name)) WHERE \(column) = $1 \(order)", [owner])
  }

  /// Puts rows in place of those of a table of which a space has few.
  package func replaceRows(of table: SpaceTable, with rows: [[StoredValue]]) throws {
    _ = try db.run("DELETE FROM \(db.table(table.name)) WHERE space = $1", [owner])
    try add(rows, to: table)
  }

  /// Writes where the space stands. The transaction itself goes on by what it began with.
  package func set(_ standing: SpaceStanding) throws {
    _ = try db.run(
      "UPDATE \(db.table("space")) SET epoch = $2, phase = $3, peer = $4 WHERE id = $1",
      [
        owner, RawParameter(StoredValue(standing.epoch), .text),
        RawParameter(Int64(standing.phase.rawValue)),
        RawParameter(StoredValue(standing.peer), .text),
      ])
  }

  package func setSpaceRow(_ row: [StoredValue]) throws {
    let columns = SpaceTable.space.columns
    let settings = columns.enumerated().map { "\($1.name) = $\($0 + 2)" }
    _ = try db.run(
      "UPDATE \(db.table("space")) SET \(settings.joined(separator: ", ")) WHERE id = $1",
      [owner] + zip(row, columns).map { RawParameter($0, $1.kind) })
  }

  /// How many rows go into one statement.
  private static let rowsAtOnce = 100

  private func add(_ rows: [[StoredValue]], to table: SpaceTable) throws {
    try add(rows, table.columns, to: table.name, owner: ("space", space))
  }

  private func add(
    _ rows: [[StoredValue]], _ columns: [SpaceTable.Column], to table: String,
    owner: (column: String, number: Int64)
  ) throws {
    let names = ([owner.column] + columns.map(\.name)).joined(separator: ", ")
    for start in stride(from: 0, to: rows.count, by: Self.rowsAtOnce) {
      let some = rows[start..<min(start + Self.rowsAtOnce, rows.count)]
      var number = 1
      let places = some.map { _ in
        "($1, "
          + columns.map { _ in
            number += 1
            return "$\(number)"
          }.joined(separator: ", ") + ")"
      }
      _ = try db.run(
        "INSERT INTO \(db.table(table)) (\(names)) VALUES \(places.joined(separator: ", "))",
        [RawParameter(owner.number)]
          + some.flatMap { zip($0, columns).map { RawParameter($0, $1.kind) } })
    }
  }
}

// MARK: - Operations

extension RawRows {
  private var operations: String {
    let operations = db.table("operation")
    guard db.keepsBytesApart else { return operations }
    return "\(operations) LEFT JOIN \(db.table("operation_bytes")) USING (space, position)"
  }

  /// Operations that follow a position: so many, and of about `contentBytes`, but one if there is
  /// one.
  package func operations(
    after position: Int64, rows: Int, contentBytes: Int
  ) throws -> [[StoredValue]] {
    // Their lengths first, which a database has without reading them.
    let lengths = try db.run(
      """
      SELECT position, CAST(coalesce(length(bytes), 0) AS bigint) FROM \(operations)
      WHERE space = $1 AND position > $2 ORDER BY position LIMIT $3
      """, [owner, RawParameter(position), RawParameter(Int64(rows))])
    var (end, total) = (position, 0)
    for row in lengths {
      total += Int(row[1].integer ?? 0)
      if total > contentBytes, end > position { break }
      end = row[0].integer ?? end
    }
    return try db.run(
      """
      SELECT \(SpaceTable.operation.names) FROM \(operations)
      WHERE space = $1 AND position > $2 AND position <= $3 ORDER BY position
      """, [owner, RawParameter(position), RawParameter(end)]
    ).map { row in row[5] == .null ? row.dropLast() + [.bytes([])] : row }
  }

  package func add(operations rows: [[StoredValue]]) throws {
    let columns = SpaceTable.operation.columns
    guard db.keepsBytesApart else { return try add(rows, to: .operation) }
    try add(
      rows.map { Array($0.dropLast()) }, Array(columns.dropLast()), to: "operation",
      owner: ("space", space))
    try add(
      rows.filter { $0[5] != .bytes([]) }.map { [$0[0], $0[5]] }, [columns[0], columns[5]],
      to: "operation_bytes", owner: ("space", space))
  }

  /// The chain up to a position; `nil` where there is no operation.
  package func chain(at position: Int64) throws -> [UInt8]? {
    try db.run(
      "SELECT chain FROM \(db.table("operation")) WHERE space = $1 AND position = $2",
      [owner, RawParameter(position)]
    ).first?[0].bytes
  }
}

// MARK: - Snapshots

/// A snapshot's row, and its number in its store.
package struct RawSnapshot {
  package let id: Int64
  package let row: [StoredValue]

  /// Its name, also that of one that can be brought back; `nil` for one that is being removed.
  package var label: String? { row[0].text ?? row[1].text }
}

extension RawRows {
  /// The oldest first, by when they came into the store.
  package func snapshots() throws -> [RawSnapshot] {
    try db.run(
      """
      SELECT id, \(SpaceTable.snapshot.names) FROM \(db.table("snapshot"))
      WHERE space = $1 ORDER BY id
      """, [owner]
    ).map { RawSnapshot(id: $0[0].integer ?? 0, row: Array($0.dropFirst())) }
  }

  /// Lets go of all names, so that rows can be written in any order.
  package func forgetSnapshots() throws {
    _ = try db.run(
      """
      UPDATE \(db.table("snapshot")) SET name = NULL, dropped_name = NULL, dropped_ms = NULL
      WHERE space = $1
      """, [owner])
  }

  /// Writes a row over that of a number, or a new one where there is none.
  package func write(_ row: [StoredValue], over id: Int64?) throws {
    let columns = SpaceTable.snapshot.columns
    guard let id else { return try add([row], to: .snapshot) }
    let settings = columns.enumerated().map { "\($1.name) = $\($0 + 2)" }
    _ = try db.run(
      "UPDATE \(db.table("snapshot")) SET \(settings.joined(separator: ", ")) WHERE id = $1",
      [RawParameter(id)] + zip(row, columns).map { RawParameter($0, $1.kind) })
  }

  /// The digests of a snapshot's parts, by their numbers.
  package func parts(of snapshot: Int64) throws -> [[StoredValue]] {
    try db.run(
      "SELECT part, digest FROM \(db.table("snapshot_part")) WHERE snapshot = $1 ORDER BY part",
      [RawParameter(snapshot)])
  }

  package func part(_ number: Int64, of snapshot: Int64) throws -> [StoredValue]? {
    try db.run(
      """
      SELECT \(SpaceTable.part.names) FROM \(db.table("snapshot_part"))
      WHERE snapshot = $1 AND part = $2
      """, [RawParameter(snapshot), RawParameter(number)]
    ).first
  }

  package func add(part row: [StoredValue], of snapshot: Int64) throws {
    try add([row], SpaceTable.part.columns, to: "snapshot_part", owner: ("snapshot", snapshot))
  }

  package func removePart(_ number: Int64, of snapshot: Int64) throws {
    _ = try db.run(
      "DELETE FROM \(db.table("snapshot_part")) WHERE snapshot = $1 AND part = $2",
      [RawParameter(snapshot), RawParameter(number)])
  }
}

/// A store whose spaces can be moved and examined row by row.
package protocol MovableStore: SpaceStore {
  /// Reads rows of a space as of one moment. Returns `nil` for a space that doesn't exist.
  func readRows<Value>(of space: SpaceName, _ body: (RawRows) throws -> Value) throws -> Value?

  /// The same as ``SpaceStore/update(_:_:)``, with the rows as they are stored.
  func updateRows<Value: Sendable>(
    of space: SpaceName, _ body: (any SpaceTransaction, RawRows) throws -> Value
  ) throws -> Value
}
#endif
