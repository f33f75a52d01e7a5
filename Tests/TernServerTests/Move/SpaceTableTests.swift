#if Server
import GRDB
import Testing

@testable import TernServer

/// What moves is what there is: a column that a table gets belongs into `SpaceTable` too. The store
/// keeps its epoch and its audit log.
@Suite("Move: the tables of a space")
struct SpaceTableTests {
  /// Those by which a store knows its own rows, and where a space stands.
  private static let own: [String: Set<String>] = [
    "space": ["id", "name", "epoch", "phase", "peer"], "operation": ["id", "space"],
    "snapshot": ["id", "space"], "snapshot_part": ["id", "snapshot"],
  ]

  private func columns(_ table: SpaceTable) -> Set<String> {
    Set(table.columns.map(\.name)).union(Self.own[table.name] ?? ["space"])
  }

  @Test func `a data file has no other tables and columns`() throws {
    let found = try DatabaseQueue().write { db in
      try ServerSchema.createTables(db, format: ServerFile.formatVersion)
      return try Row.fetchAll(
        db,
        sql: """
          SELECT t.name, c.name FROM pragma_table_list AS t, pragma_table_info(t.name) AS c
          WHERE t.schema = 'main' AND t.strict AND t.name NOT IN ('store', 'audit')
          """
      ).map { ($0[0] as String, $0[1] as String) }
    }
    let tables = Dictionary(grouping: found, by: \.0).mapValues { Set($0.map(\.1)) }
    #expect(Set(tables.keys) == Set(SpaceTable.all.map(\.name)))
    for table in SpaceTable.all { #expect(tables[table.name] == columns(table)) }
  }

  #if PostgreSQL
  @Test(.enabled(if: TestDatabase.address != nil, "script/test starts a database"))
  func `a database has no others either`() throws {
    let database = try TestDatabase()
    _ = try database.open()
    let found = try database.run(
      """
      SELECT table_name::text, column_name::text FROM information_schema.columns
      WHERE table_schema = '\(database.schema)' AND table_name NOT IN ('store', 'audit')
      """
    ).map { ($0.text(0) ?? "", $0.text(1) ?? "") }
    var tables = Dictionary(grouping: found, by: \.0).mapValues { Set($0.map(\.1)) }
    #expect(tables.removeValue(forKey: "operation_bytes") == ["space", "position", "bytes"])
    #expect(Set(tables.keys) == Set(SpaceTable.all.map(\.name)))
    for table in SpaceTable.all {
      // A row of an operation, or of a part, has no number of its own.
      var expected = columns(table)
      if table == .operation { expected.subtract(["id", "bytes"]) }
      if table == .part { expected.remove("id") }
      #expect(tables[table.name] == expected)
    }
  }
  #endif
}
#endif
