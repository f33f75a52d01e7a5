import GRDB
import Tern
import TernTesting

/// Tables, triggers and statements of an app that nobody wrote: what SQLite takes and Tern syncs.
struct DrawnSchema {
  struct Column {
    var name: String
    var declaration: String
    var rule: MergeRule?
    var isLocal = false
    /// Values of SQL that statements write.
    var values: [String]
  }

  struct Table {
    var name: String
    var keys: [Column] = []
    var columns: [Column] = []
    var generated: String?
    var constraints: [String] = []
    var options: [String] = []
    var deletes = DeleteRule.deleteWins

    var quoted: String { name.quotedForSQL }
    /// What every device has alike.
    var synced: [String] { (keys + columns.filter { !$0.isLocal }).map(\.name.quotedForSQL) }

    var creation: String {
      let all = (keys + columns).map { "\($0.name.quotedForSQL) \($0.declaration)" }
      let key = "PRIMARY KEY (\(keys.map(\.name.quotedForSQL).joined(separator: ", ")))"
      let parts = all + (generated.map { [$0] } ?? []) + [key] + constraints
      return "CREATE TABLE \(quoted) (\(parts.joined(separator: ", ")))"
        + options.joined(separator: ", ")
    }
  }

  var tables: [Table] = []
  var indexes: [String] = []
  /// The app's triggers and the tables that they write to.
  var triggers: [String] = []
  /// Pairs of queries, of a mirror and of what it mirrors, that give the same.
  var mirrors: [(String, String)] = []

  private static let tableNames = ["book", "or\"der", "a b", "Größe", "select"]
  private static let columnNames = ["a", "B", "in dex", "x\"y", "values"]

  init(using random: inout SeededGenerator) {
    for name in Self.tableNames.shuffled(using: &random).prefix(.random(in: 1...3, using: &random))
    {
      tables.append(table(name, &random))
    }
    for table in tables { drawTriggers(on: table, &random) }
  }

  var schema: SyncSchema {
    SyncSchema(
      version: 1,
      tables: tables.map { table in
        SyncTable(
          table.name,
          merge: Dictionary(
            uniqueKeysWithValues: table.columns.compactMap { column in
              column.rule.map { (column.name, $0) }
            }), deletes: table.deletes, local: Set(table.columns.filter(\.isLocal).map(\.name)))
      })
  }

  var creation: [String] { tables.map(\.creation) + indexes }

  // MARK: - Tables

  private mutating func table(_ name: String, _ random: inout SeededGenerator) -> Table {
    var table = Table(name: name)
    let isStrict = random.happens(0.25)
    if isStrict { table.options.append(" STRICT") }
    if random.happens(0.3) { table.options.append(" WITHOUT ROWID") }
    let texts = (1...5).map { "'k\($0)'" }
    let first = Column(name: "id", declaration: "TEXT NOT NULL", values: texts)
    switch Int.random(in: 0..<4, using: &random) {
    case 0:
      let second = Column(name: "Nr", declaration: "INTEGER NOT NULL", values: ["1", "2", "-3"])
      table.keys = [first, second]
    case 1:
      let values = ["x'00'", "x'ff01'", "x''", "x'02'"]
      table.keys = [Column(name: "id", declaration: "BLOB NOT NULL", values: values)]
    default: table.keys = [first]
    }
    for name in Self.columnNames.shuffled(using: &random).prefix(.random(in: 0...4, using: &random))
    {
      table.columns.append(column(name, isStrict, &random))
    }
    if let parent = tables.first(where: { $0.keys.count == 1 }), random.happens(0.5) {
      let actions = ["", "ON DELETE CASCADE", "ON DELETE SET NULL", "ON UPDATE CASCADE"]
      let action = actions.randomElement(using: &random)!
      let isLate = random.happens(0.3) ? "DEFERRABLE INITIALLY DEFERRED" : ""
      let type = parent.keys[0].declaration.split(separator: " ")[0]
      table.columns.append(
        Column(
          name: "parent", declaration: "\(type) REFERENCES \(parent.quoted) \(action) \(isLate)",
          values: parent.keys[0].values + ["NULL"]))
    }
    let plain = table.columns.filter { $0.rule == nil && !$0.isLocal }
    if let column = plain.randomElement(using: &random), random.happens(0.4) {
      let name = column.name.quotedForSQL
      indexes.append(
        "CREATE UNIQUE INDEX \("one in \(table.name)".quotedForSQL) ON \(table.quoted) (\(name))")
    }
    if let column = plain.randomElement(using: &random), random.happens(0.3) {
      table.constraints.append("CHECK (\(column.name.quotedForSQL) IS NOT 'never')")
    }
    if random.happens(0.2) {
      let key = table.keys[0].name.quotedForSQL
      let kind = random.happens(0.5) ? "STORED" : "VIRTUAL"
      table.generated = "made TEXT AS (hex(\(key))) \(kind)"
    }
    let rules: [DeleteRule] = [.deleteWins, .deleteWins, .updateWins, .lastWriter]
    table.deletes = rules.randomElement(using: &random)!
    return table
  }

  private func column(_ name: String, _ isStrict: Bool, _ random: inout SeededGenerator) -> Column {
    let numbers = ["0", "1", "-7", "9007199254740993", "2"]
    switch Int.random(in: 0..<9, using: &random) {
    case 0:
      return Column(
        name: name, declaration: "INTEGER NOT NULL DEFAULT 0", rule: .counter,
        values: ["\(name.quotedForSQL) + 1", "5", "\(name.quotedForSQL) - 2"])
    case 1:
      return Column(
        name: name, declaration: "TEXT NOT NULL DEFAULT '[]'", rule: .set,
        values: ["'[]'", "'[\"a\"]'", "'[\"b\",\"a\"]'", "'[1,\"c\"]'"])
    case 2:
      let rule: MergeRule = random.happens(0.5) ? .max : .min
      return Column(name: name, declaration: "INTEGER", rule: rule, values: numbers + ["NULL"])
    case 3:
      return Column(
        name: name, declaration: "TEXT DEFAULT 'mine'", isLocal: true, values: ["'l1'", "'l2'"])
    case 4:
      return Column(
        name: name, declaration: "REAL", values: ["0.5", "1", "-2.25", "1e300", "NULL"])
    case 5: return Column(name: name, declaration: "BLOB", values: ["x'00'", "x'0102'", "NULL"])
    case 6:
      return Column(
        name: name, declaration: "TEXT NOT NULL DEFAULT '' COLLATE NOCASE",
        values: ["'Dune'", "'dune'", "'Ünder'", "''", "NULL"])
    case 7 where !isStrict:
      return Column(name: name, declaration: "", values: numbers + ["'1'", "1.0", "x'31'", "NULL"])
    default:
      return Column(
        name: name, declaration: "TEXT",
        values: ["'Dune'", "'never'", "'Emma'", "'q''uote'", "NULL"])
    }
  }

  // MARK: - Triggers

  private mutating func drawTriggers(on table: Table, _ random: inout SeededGenerator) {
    let number = tables.firstIndex { $0.name == table.name }!
    let plain = table.columns.filter { $0.rule == nil && !$0.isLocal }
    let keys = table.keys.map { "\($0.name.quotedForSQL) = NEW.\($0.name.quotedForSQL)" }
      .joined(separator: " AND ")
    if random.happens(0.5) { drawMirror(of: table, number, &random) }
    if let local = table.columns.first(where: \.isLocal), random.happens(0.7) {
      triggers.append(
        """
        CREATE TRIGGER local_\(number) AFTER INSERT ON \(table.quoted) BEGIN
          UPDATE \(table.quoted) SET \(local.name.quotedForSQL) = 'by trigger' WHERE \(keys);
        END
        """)
    }
    if let column = plain.randomElement(using: &random), random.happens(0.4) {
      let value = column.values.randomElement(using: &random)!
      triggers.append(
        """
        CREATE TRIGGER touch_\(number) AFTER UPDATE ON \(table.quoted) BEGIN
          UPDATE OR IGNORE \(table.quoted) SET \(column.name.quotedForSQL) = \(value) WHERE \(keys);
        END
        """)
    }
    if random.happens(0.3) {
      let value = table.keys[0].values.randomElement(using: &random)!
      let kind = ["ABORT, 'no'", "IGNORE", "ROLLBACK, 'no'"].randomElement(using: &random)!
      triggers.append(
        """
        CREATE TRIGGER strict_\(number) BEFORE \(random.happens(0.5) ? "INSERT" : "UPDATE")
        ON \(table.quoted) WHEN NEW.\(table.keys[0].name.quotedForSQL) = \(value) BEGIN
          SELECT RAISE(\(kind));
        END
        """)
    }
    if let other = tables.randomElement(using: &random), random.happens(0.3) {
      let value = other.keys[0].values.randomElement(using: &random)!
      triggers.append(
        """
        CREATE TRIGGER sweep_\(number) AFTER DELETE ON \(table.quoted) BEGIN
          DELETE FROM \(other.quoted) WHERE \(other.keys[0].name.quotedForSQL) = \(value);
        END
        """)
    }
  }

  /// A copy of the keys in a table of the app's, which a view and a trigger of another mirror too.
  private mutating func drawMirror(
    of table: Table, _ number: Int, _ random: inout SeededGenerator
  ) {
    let names = table.keys.map(\.name.quotedForSQL)
    let mirror = "mirror_\(number)"
    let columns = table.keys.indices.map { "k\($0)" }
    func values(_ row: String) -> String { names.map { "\(row).\($0)" }.joined(separator: ", ") }
    func match(_ row: String) -> String {
      zip(columns, names).map { "\($0) IS \(row).\($1)" }.joined(separator: " AND ")
    }
    // Also says what a REPLACE removes, for which no delete trigger fires.
    let insert =
      random.happens(0.5)
      ? "INSERT OR REPLACE INTO \(mirror) VALUES (\(values("NEW")))"
      : "DELETE FROM \(mirror) WHERE \(match("NEW")); INSERT INTO \(mirror) VALUES (\(values("NEW")))"
    triggers += [
      "CREATE TABLE \(mirror) (\(columns.joined(separator: ", ")), "
        + "UNIQUE (\(columns.joined(separator: ", "))))",
      "CREATE TRIGGER \(mirror)_came AFTER INSERT ON \(table.quoted) BEGIN \(insert); END",
      """
      CREATE TRIGGER \(mirror)_went AFTER DELETE ON \(table.quoted) BEGIN
        DELETE FROM \(mirror) WHERE \(match("OLD"));
      END
      """,
      """
      CREATE TRIGGER \(mirror)_moved AFTER UPDATE OF \(names.joined(separator: ", "))
      ON \(table.quoted) BEGIN
        DELETE FROM \(mirror) WHERE \(match("OLD"));
        \(insert);
      END
      """,
    ]
    mirrors.append(
      (
        "SELECT \(columns.map { "quote(\($0))" }.joined(separator: ", ")) FROM \(mirror) ORDER BY 1, 2",
        "SELECT \(names.map { "quote(\($0))" }.joined(separator: ", ")) FROM \(table.quoted) "
          + "ORDER BY 1, 2"
      ))
    if columns.count == 1 {
      let index = mirrors.count - 1
      mirrors[index] = (
        mirrors[index].0.replacing("ORDER BY 1, 2", with: "ORDER BY 1"),
        mirrors[index].1.replacing("ORDER BY 1, 2", with: "ORDER BY 1")
      )
    }
  }

  // MARK: - Statements

  func statement(using random: inout SeededGenerator) -> String {
    let table = tables.randomElement(using: &random)!
    func value(_ column: Column, isNew: Bool) -> String {
      let value = column.values.randomElement(using: &random)!
      // A counter's own value is known to updates alone.
      return isNew && column.rule == .counter ? "1" : value
    }
    func match() -> String {
      table.keys.map { "\($0.name.quotedForSQL) = \(value($0, isNew: false))" }
        .joined(separator: " AND ")
    }
    func sets(_ columns: [Column]) -> String {
      columns.map { "\($0.name.quotedForSQL) = \(value($0, isNew: false))" }.joined(separator: ", ")
    }
    func some() -> [Column] {
      table.columns.shuffled(using: &random)
        .prefix(.random(in: 1...max(1, table.columns.count), using: &random)).map { $0 }
    }
    let clause = ["", "", "OR REPLACE ", "OR IGNORE ", "OR FAIL "].randomElement(using: &random)!
    func insert() -> String {
      let chosen = table.keys + (table.columns.isEmpty ? [] : some())
      let names = chosen.map(\.name.quotedForSQL).joined(separator: ", ")
      let rows = (0...Int.random(in: 0...2, using: &random)).map { _ in
        "(\(chosen.map { value($0, isNew: true) }.joined(separator: ", ")))"
      }
      return "INTO \(table.quoted) (\(names)) VALUES \(rows.joined(separator: ", "))"
    }
    switch Int.random(in: 0..<10, using: &random) {
    case 0...3: return "INSERT \(clause)\(insert())"
    case 4 where !table.columns.isEmpty:
      return "INSERT \(insert()) ON CONFLICT DO UPDATE SET \(sets(some()))"
    case 5,
      6 where !table.columns.isEmpty:
      return "UPDATE \(clause)\(table.quoted) SET \(sets(some())) WHERE \(match())"
    case 7 where !table.columns.isEmpty:
      return "UPDATE \(clause)\(table.quoted) SET \(sets(some()))"
    case 8: return "UPDATE \(clause)\(table.quoted) SET \(sets([table.keys[0]])) WHERE \(match())"
    default: return "DELETE FROM \(table.quoted) WHERE \(match())"
    }
  }
}

extension String {
  var quotedForSQL: String { "\"" + replacing("\"", with: "\"\"") + "\"" }
}
