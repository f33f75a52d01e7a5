import GRDB
import Tern
import TestDevice
import Testing

@Suite("Schema: columns by which no row can be folded")
struct FoldRefusalTests {
  private static let index = "CREATE UNIQUE INDEX i ON t (name) WHERE same IS NULL"

  /// A declaration, and what the message has to say.
  struct Refused: Sendable, CustomTestStringConvertible {
    var columns: String
    var key = "id"
    var index = FoldRefusalTests.index
    var merge: [String: MergeRule] = [:]
    var code = SchemaError.Code.unsupportedPointer
    var column: String? = "same"
    var says: String
    var testDescription: String { columns + index }
  }

  @Test(arguments: [
    Refused(columns: "same TEXT NOT NULL DEFAULT ''", says: "without NOT NULL"),
    Refused(columns: "same TEXT NOT NULL", says: "without NOT NULL"),
    Refused(columns: "same TEXT DEFAULT 'x'", says: "without a default"),
    Refused(columns: "same TEXT DEFAULT (NULL || 'x')", says: "without a default"),
    Refused(columns: "same INTEGER", says: "of the key's type (TEXT)"),
    Refused(columns: "same REAL", says: "of the key's type (TEXT)"),
    Refused(columns: "same TEXT AS (name)", code: .unknownColumn, says: "generated"),
    Refused(columns: "same TEXT", index: "SELECT 1", says: "no UNIQUE index"),
    Refused(
      columns: "same TEXT",
      index: "CREATE UNIQUE INDEX i ON t (name, id) WHERE same IS NULL", says: "no UNIQUE index"),
    Refused(columns: "same TEXT REFERENCES t", says: "without a foreign key"),
    Refused(
      columns: "same TEXT, name2, FOREIGN KEY (same, name2) REFERENCES t (id, name)",
      says: "without a foreign key"),
    Refused(columns: "same TEXT", key: "id, name", says: "this key has 2 columns"),
    Refused(columns: "same TEXT", merge: ["SAME": .max], says: "it has a merge rule"),
    Refused(columns: "other TEXT", index: "SELECT 1", code: .unknownColumn, says: "same"),
    Refused(
      columns: "same TEXT", index: "CREATE UNIQUE INDEX i ON t (name)", code: .uniqueBesideKey,
      column: "name", says: "“same IS NULL”"),
    Refused(
      columns: "same TEXT", index: "CREATE UNIQUE INDEX i ON t (name) WHERE same IS NULL OR color",
      code: .uniqueBesideKey, column: "name", says: "“same IS NULL”"),
    Refused(
      columns: "same TEXT", index: "CREATE UNIQUE INDEX i ON t (name) WHERE same IS NOT NULL",
      code: .uniqueBesideKey, column: "name", says: "“same IS NULL”"),
    Refused(
      columns: "same TEXT", index: "CREATE UNIQUE INDEX i ON t (same) WHERE same IS NULL",
      code: .uniqueBesideKey, says: "local"),
  ])
  func `one is refused by name, and nothing is changed`(_ refused: Refused) throws {
    let database = try DatabaseQueue()
    let error = try Self.open(database, refused)
    #expect(error?.code == refused.code && error?.column == refused.column, "\(error as Any)")
    #expect(error?.description.contains(refused.says) == true, "\(error as Any)")
    #expect(
      try database.read { try String.fetchAll($0, sql: "SELECT name FROM sqlite_master") }
        .allSatisfy { !$0.hasPrefix("grdb_tern") })
  }

  @Test func `all of it is told at once`() throws {
    let error = try Self.open(
      DatabaseQueue(),
      Refused(
        columns: "same INTEGER NOT NULL DEFAULT 0 REFERENCES t (name)", key: "id, name",
        index: "CREATE UNIQUE INDEX i ON t (color)", says: ""))
    let all = error.map { [$0] + $0.others } ?? []
    let texts = all.map(\.message)
    for says in ["this key has 2 columns", "without NOT NULL", "without a foreign key"] {
      #expect(texts.contains { $0.contains(says) }, "\(texts)")
    }
  }

  @Test(arguments: [
    ("TEXT", "TEXT"), ("BLOB", "BLOB"), ("VARCHAR(36)", "TEXT"), ("BLOB", ""), ("TEXT", "BLOB"),
  ])
  func `what keeps the keys as they are is taken`(_ key: String, _ pointer: String) throws {
    let database = try DatabaseQueue()
    let error = try Self.open(
      database, Refused(columns: "same \(pointer) DEFAULT NULL", says: ""), keyType: key)
    #expect(error == nil)
  }

  private static func open(
    _ database: DatabaseQueue, _ refused: Refused, keyType: String = "TEXT"
  ) throws -> SchemaError? {
    try database.write {
      try $0.execute(
        sql: """
          CREATE TABLE t (
            id \(keyType) NOT NULL, name TEXT NOT NULL DEFAULT '', color TEXT, \(refused.columns),
            PRIMARY KEY (\(refused.key)));
          \(refused.index)
          """)
    }
    let table = SyncTable("t", merge: refused.merge, collisions: .fold(into: "same"))
    do {
      _ = try Device(database, SyncSchema(version: 1, tables: [table]), id: 1)
      return nil
    } catch let error as SchemaError {
      return error
    }
  }
}
