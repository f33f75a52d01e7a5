#if PostgreSQL
import GRDB
import TernCore

/// Looks through the store in a schema of a database, and changes nothing there.
///
/// One space after the other is copied, row by row as it stands and as of one moment, into a
/// temporary file, where ``ServerDoctor`` looks through it as through a server's own. What the
/// database sees to itself, that other rows than operations refer to rows that are there and
/// numbers are unique, is not looked at again.
package struct PostgreSQLDoctor {
  private let connection: PostgreSQLConnection
  private let schema: PostgreSQLSchema
  private let limits: PostgreSQLLimits
  private let findings: Findings
  /// How much is copied at once.
  private static let rows = 1_000
  private static let contentBytes = 8 << 20

  /// Connects. A standby can be looked at too.
  ///
  /// - Parameters:
  ///   - address: as ``PostgreSQLSpaceStore`` takes it.
  ///   - schema: the schema of the database that has the store's tables.
  ///   - passwordFile: a file with the password, but for line feeds at its end.
  /// - Throws: ``PostgreSQLError``; ``StoreError`` where the file can't be read.
  package init(
    _ address: String, schema: String = "tern", passwordFile: String? = nil, findings: Findings
  ) throws {
    // A statement reads a page at most, or the numbers of one space.
    var limits = PostgreSQLLimits()
    limits.patience = .seconds(60)
    self.limits = limits
    let password = try passwordFile.map { try PasswordFile(path: $0).read() }
    connection = try PostgreSQLConnection(address, password: password, patience: limits.patience)
    self.schema = PostgreSQLSchema(name: schema)
    self.findings = findings
  }

  /// - Throws: ``StoreError`` where there is no store in the schema; ``PostgreSQLError``; what
  ///   `findings` throws.
  package func run() throws {
    guard let store = try reading({ try lookAtStore() }) else { return }
    for space in store.spaces {
      if RemovedSpace.has(name: space.name) {
        findings.space = space.name
        try findings.add(.spaceRemoved, "what a removed space held is being removed")
      } else {
        try findings.withTemporaryFile(for: .unchecked) { try look(at: space, store.epoch) }
      }
    }
    findings.space = nil
  }

  private struct Space {
    let id: Int64
    let name: String
    let epoch: String?
    let phase: Int64
    let peer: String?
  }

  // MARK: - The store

  /// Returns what there is to look through; `nil` where that can't be.
  private func lookAtStore() throws -> (epoch: String?, spaces: [Space])? {
    guard try hasTables() else { return nil }
    let stores = try connection.run("SELECT epoch, format FROM \(schema("store"))")
    if let format = stores.first?.integer(1), format != PostgreSQLMigrations.current.format {
      try findings.add(
        format > PostgreSQLMigrations.current.format ? .newerFormat : .serverFormat,
        "the server's data has format \(format)")
      return nil
    }
    let epoch = try ServerDoctor.checkEpochs(stores.map { $0.text(0) ?? "" }, findings)
    let spaces = try connection.run(
      "SELECT id, name, epoch, phase, peer FROM \(schema("space")) ORDER BY name"
    ).map {
      Space(
        id: $0.integer(0), name: $0.text(1) ?? "", epoch: $0.text(2), phase: $0.integer(3),
        peer: $0.text(4))
    }
    try lookForOrphans()
    return (epoch, spaces)
  }

  /// Operations have no reference to their space, which whoever writes them has locked.
  private func lookForOrphans() throws {
    for table in ["operation", "operation_bytes"] {
      // From one space's first row to the next one's.
      let orphans = try connection.run(
        """
        WITH RECURSIVE found (space) AS (
          SELECT min(space) FROM \(schema(table))
          UNION ALL
          SELECT (SELECT min(space) FROM \(schema(table)) AS next WHERE next.space > found.space)
          FROM found WHERE found.space IS NOT NULL
        )
        SELECT space FROM found WHERE space NOT IN (SELECT id FROM \(schema("space")))
        """)
      for row in 0..<orphans.count {
        findings.space = RemovedSpace.name(of: orphans[row].integer(0))
        try findings.add(
          .operationLeft, "there are rows of a space that is gone", at: .init(table: table))
      }
    }
    findings.space = nil
  }

  private func hasTables() throws -> Bool {
    let rows = try connection.run(
      """
      SELECT table_name::text, column_name::text FROM information_schema.columns
      WHERE table_schema = $1
      """, [.text(schema.name)])
    var columns: [String: Set<String>] = [:]
    for row in rows.map({ ($0.text(0) ?? "", $0.text(1) ?? "") }) {
      columns[row.0, default: []].insert(row.1)
    }
    guard columns["store"] != nil else {
      throw StoreError(
        .notServerFile,
        "the schema \(schema.name) of the database has no store; name another one with --schema")
    }
    var expected = ["operation_bytes": ["space", "position", "bytes"] as Set]
    for table in SpaceTable.all {
      // An operation's bytes are in a table of their own.
      let names = table == .operation ? table.columns.dropLast() : table.columns[...]
      expected[table.name] = Set(names.map(\.name))
    }
    expected["space"]?.formUnion(["id", "name", "epoch", "phase", "peer"])
    expected["audit"] = ["number", "at_ms", "actor", "action", "space", "details"]
    var isWhole = true
    for (table, names) in expected.sorted(by: { $0.key < $1.key })
    where !names.isSubset(of: columns[table] ?? []) {
      isWhole = false
      try findings.add(
        .serverTable, "the table is gone or has other columns", at: .init(table: table))
    }
    return isWhole
  }

  // MARK: - A space

  private func look(at space: Space, _ epoch: String?) throws {
    // A file without a name is removed when it is closed.
    let file = try DatabaseQueue(path: "")
    try file.writeWithoutTransaction { db in
      try db.inTransaction {
        try ServerSchema.createTables(db, format: ServerFile.formatVersion)
        try db.execute(
          sql: """
            INSERT INTO space (id, name, position, epoch, phase, peer) VALUES (?, ?, 0, ?, ?, ?)
            """, arguments: [space.id, space.name, space.epoch, space.phase, space.peer])
        try reading {
          let rows = RawRows(
            db: PostgreSQLRowDatabase(db: connection, schema: schema), space: space.id)
          try copy(rows, to: RawRows(db: SQLiteRowDatabase(db: db), space: space.id))
          try lookForStrayBytes(of: space)
        }
        return .commit
      }
      try ServerDoctor(copy: db, findings: findings).checkSpaces(epoch: epoch)
    }
    try file.close()
  }

  private func copy(_ rows: RawRows, to file: RawRows) throws {
    // Removed since the spaces were listed: then there is nothing of it to look at.
    guard let row = try rows.rows(of: .space).first else { return }
    try file.setSpaceRow(row)
    var position = Int64.min
    while true {
      let page = try rows.operations(
        after: position, rows: Self.rows, contentBytes: Self.contentBytes)
      guard let last = page.last?[0].integer else { break }
      try file.add(operations: page)
      position = last
    }
    for snapshot in try rows.snapshots() {
      try file.write(snapshot.row, over: nil)
      guard let copy = try file.snapshots().last else { continue }
      for part in try rows.parts(of: snapshot.id) {
        guard let number = part[0].integer, let row = try rows.part(number, of: snapshot.id)
        else { continue }
        try file.add(part: row, of: copy.id)
      }
    }
    for table in SpaceTable.small {
      try file.replaceRows(of: table, with: try rows.rows(of: table))
    }
  }

  /// Bytes of operations that are not there, which the copy leaves out.
  private func lookForStrayBytes(of space: Space) throws {
    let stray = try connection.run(
      """
      SELECT position FROM \(schema("operation_bytes")) AS held WHERE space = $1
        AND NOT EXISTS (
          SELECT FROM \(schema("operation")) AS operation
          WHERE operation.space = held.space AND operation.position = held.position)
      ORDER BY position LIMIT 1000
      """, [.integer(space.id)])
    findings.space = space.name
    for row in 0..<stray.count {
      try findings.add(
        .operationLeft, "there are bytes of an operation that the space doesn't have",
        at: .init(name: "position \(stray[row].integer(0))"))
    }
  }

  /// Runs `body` in one transaction, which sees one moment.
  private func reading<Value>(_ body: () throws -> Value) throws -> Value {
    connection.begin(limits, isReading: true)
    do {
      let value = try body()
      try connection.commit()
      return value
    } catch {
      connection.rollBack()
      throw error
    }
  }
}
#endif
