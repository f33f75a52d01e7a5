import TernDatabase

/// How many concurrent writes met here, by what decided.
struct ConflictTable {
  private let connection: StoreConnection
  private var table: String { connection.tables.conflict }

  init(_ connection: StoreConnection) {
    self.connection = connection
  }

  func counts() throws -> [ConflictKind: Int] {
    let select = try connection.statement("SELECT kind, count FROM \(table)")
    var counts: [ConflictKind: Int] = [:]
    try select.each {
      if let kind = ConflictKind(rawValue: select.text(0)) { counts[kind] = select.int(1) }
    }
    return counts
  }

  func add(_ counts: [ConflictKind: Int]) throws {
    for (kind, count) in counts {
      let add = try connection.statement(
        """
        INSERT INTO \(table) (kind, count) VALUES (?, ?)
        ON CONFLICT DO UPDATE SET count = count + excluded.count
        """)
      add.bindAll(kind.rawValue, count)
      try add.run()
    }
  }
}
