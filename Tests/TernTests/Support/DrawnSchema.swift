import GRDB
import Tern
import TernTesting

/// Tables, triggers and statements of an app that nobody wrote: what SQLite takes and Tern syncs.
///
/// Columns and tables are meant by their numbers, which stay when a migration renames them.
struct DrawnSchema {
  struct Column {
    var id = 0
    var name: String
    /// What it was called in earlier releases, the latest first.
    var formerNames: [String] = []
    var type: String
    var constraint = ""
    /// The table that it refers to, and what the reference says of deletes.
    var parent: (table: Int, action: String)?
    var rule: MergeRule?
    var isLocal = false
    var isUnique = false
    var isChecked = false
    /// Whether it says which rows a UNIQUE index is of.
    var isFlag = false
    /// Whether it says into which row another is folded.
    var isPointer = false
    /// Values of SQL that statements write; `{}` is the column itself.
    var values: [String]

    var quoted: String { name.quotedForSQL }
    /// Whether it stays on its device, and the app writes it.
    var isOwn: Bool { isLocal && !isPointer }
  }

  struct Table {
    var name: String
    var formerNames: [String] = []
    var keys: [Column] = []
    var columns: [Column] = []
    /// The kind of a column that SQLite computes from the key.
    var generated: String?
    /// A generated column in lower case, by its number, and the column that it is made of.
    var lower: (id: Int, of: Int, kind: String)?
    /// UNIQUE indexes beside those of columns.
    var uniques: [DrawnUnique] = []
    var isStrict = false
    var isWithoutRowid = false
    var deletes = DeleteRule.deleteWins
    /// Whether it has rows of this device alone, until a release makes it sync.
    var isSynced = true

    var quoted: String { name.quotedForSQL }
    /// What every device has alike.
    var synced: [String] { (keys + columns.filter { !$0.isLocal }).map(\.quoted) }
    /// Columns that hold what the last writer wrote, on every device.
    var plain: [Column] { columns.filter { $0.rule == nil && !$0.isLocal } }

    /// Whether a UNIQUE index computes something of a column.
    func computes(_ column: Column) -> Bool {
      uniques.contains { $0.names(column.id) }
        || lower.map { lower in
          lower.of == column.id && uniques.contains { $0.names(lower.id) }
        } ?? false
    }
  }

  var tables: [Table] = []
  /// Whether rows of some tables fold.
  var folds: Bool
  var triggers: [Trigger] = []
  /// Counters that a migration wrote.
  var rebased: Set<Int> = []
  /// Of the column, or name, that is drawn next.
  var nextID = 1

  private static let tableNames = ["book", "or\"der", "a b", "Größe", "select"]
  private static let columnNames = ["a", "B", "in dex", "x\"y", "values"]

  /// - Parameter isMigrated: whether there may be a table that begins to sync in a later release.
  init(isMigrated: Bool = false, folds: Bool = false, using random: inout SeededGenerator) {
    self.folds = folds
    let names = Self.tableNames.shuffled(using: &random)
    for name in names.prefix(.random(in: 1...3, using: &random)) {
      tables.append(table(name, hasParent: random.happens(0.5), &random))
    }
    if isMigrated, random.happens(0.4) {
      var later = table("log \"book\"", hasParent: false, &random)
      later.isSynced = false
      tables.append(later)
    }
    for number in tables.indices { drawTriggers(on: number, &random) }
  }

  func schema(version: Int) -> SyncSchema {
    SyncSchema(
      version: UInt32(version),
      tables: tables.filter(\.isSynced).map { table in
        var renamed: [String: String] = [:]
        for column in table.columns {
          for (name, former) in zip([column.name] + column.formerNames, column.formerNames) {
            renamed[name] = former
          }
        }
        return SyncTable(
          table.name,
          merge: Dictionary(
            uniqueKeysWithValues: table.columns.compactMap { column in
              column.rule.map { (column.name, $0) }
            }), deletes: table.deletes, local: Set(table.columns.filter(\.isLocal).map(\.name)),
          collisions: table.pointer.map { .fold(into: $0.name) } ?? .quarantine,
          formerColumnNames: renamed, formerNames: table.formerNames)
      })
  }

  // MARK: - SQL

  var creation: [String] { tables.indices.map { creation($0) } + tables.indices.flatMap(indexes) }

  /// - Parameter name: another than the table's, while it is built again.
  func creation(_ number: Int, as name: String? = nil) -> String {
    let table = tables[number]
    var parts = (table.keys + table.columns).map { column in
      var parts = [column.quoted, column.type, column.constraint]
      if let parent = column.parent {
        parts.append("REFERENCES \(tables[parent.table].quoted) \(parent.action)")
      }
      return parts.filter { !$0.isEmpty }.joined(separator: " ")
    }
    if let kind = table.generated {
      parts.append("made TEXT AS (hex(\(table.keys[0].quoted))) \(kind)")
    }
    if let lower = table.lower {
      let name = table.columns.first { $0.id == lower.of }!.quoted
      parts.append("lower TEXT AS (lower(\(name) || '')) \(lower.kind)")
    }
    parts.append("PRIMARY KEY (\(table.keys.map(\.quoted).joined(separator: ", ")))")
    parts += table.columns.filter(\.isChecked).map { "CHECK (\($0.quoted) IS NOT 'never')" }
    let options = [table.isStrict ? "STRICT" : "", table.isWithoutRowid ? "WITHOUT ROWID" : ""]
      .filter { !$0.isEmpty }
    return "CREATE TABLE \((name ?? table.name).quotedForSQL) (\(parts.joined(separator: ", ")))"
      + " " + options.joined(separator: ", ")
  }

  func indexes(_ number: Int) -> [String] {
    let table = tables[number]
    var names = Dictionary(
      uniqueKeysWithValues: (table.keys + table.columns).map { ($0.id, $0.quoted) })
    if let lower = table.lower { names[lower.id] = "lower" }
    return table.columns.filter(\.isUnique).map { column in
      "CREATE UNIQUE INDEX \(Self.indexName(column)) ON \(table.quoted) (\(column.quoted))"
        + (table.pointer.map { " WHERE \($0.quoted) IS NULL" } ?? "")
    } + table.uniques.map { $0.creation(on: table.quoted, names, pointer: table.pointer?.quoted) }
  }

  static func indexName(_ column: Column) -> String { "one in \(column.id)".quotedForSQL }

  // MARK: - Drawing

  mutating func numbered(_ column: Column) -> Column {
    var column = column
    column.id = nextID
    nextID += 1
    return column
  }

  mutating func table(
    _ name: String, hasParent: Bool, _ random: inout SeededGenerator
  ) -> Table {
    var table = Table(name: name)
    table.isStrict = random.happens(0.25)
    table.isWithoutRowid = random.happens(0.3)
    let texts = (1...5).map { "'k\($0)'" }
    let first = Column(name: "id", type: "TEXT", constraint: "NOT NULL", values: texts)
    switch Int.random(in: 0..<4, using: &random) {
    case 0:
      let values = ["1", "2", "-3"]
      table.keys = [
        first, Column(name: "Nr", type: "INTEGER", constraint: "NOT NULL", values: values),
      ]
    case 1:
      let values = ["x'00'", "x'ff01'", "x''", "x'02'"]
      table.keys = [Column(name: "id", type: "BLOB", constraint: "NOT NULL", values: values)]
    default: table.keys = [first]
    }
    for index in table.keys.indices { table.keys[index] = numbered(table.keys[index]) }
    for name in Self.columnNames.shuffled(using: &random).prefix(.random(in: 0...4, using: &random))
    {
      table.columns.append(column(name, table.isStrict, &random))
    }
    if hasParent, let parent = tables.firstIndex(where: { $0.keys.count == 1 && $0.isSynced }) {
      let actions = ["", "ON DELETE CASCADE", "ON DELETE SET NULL", "ON UPDATE CASCADE"]
      let action = actions.randomElement(using: &random)!
      let key = tables[parent].keys[0]
      table.columns.append(
        numbered(
          Column(
            name: "parent", type: key.type,
            parent: (
              parent, action + (random.happens(0.3) ? " DEFERRABLE INITIALLY DEFERRED" : "")
            ), values: key.values + ["NULL"])))
    }
    let plain = table.columns.indices.filter {
      table.columns[$0].rule == nil && !table.columns[$0].isLocal
    }
    if let index = plain.randomElement(using: &random), random.happens(0.4) {
      table.columns[index].isUnique = true
    }
    if let index = plain.randomElement(using: &random), random.happens(0.3) {
      table.columns[index].isChecked = true
    }
    if random.happens(0.2) { table.generated = random.happens(0.5) ? "STORED" : "VIRTUAL" }
    drawUniques(of: &table, &random)
    if folds, table.mayFold, random.happens(0.6) { addPointer(to: &table) }
    let rules: [DeleteRule] = [.deleteWins, .deleteWins, .updateWins, .lastWriter]
    table.deletes = rules.randomElement(using: &random)!
    return table
  }

  /// Half of the tables have some, mostly over a column that says which rows count.
  private mutating func drawUniques(of table: inout Table, _ random: inout SeededGenerator) {
    guard random.happens(0.5) else { return }
    let flag = numbered(
      Column(
        name: "deleted", type: table.isStrict ? "INTEGER" : "BOOLEAN",
        constraint: "NOT NULL DEFAULT 0", isFlag: true, values: ["0", "1", "0", "1", "NULL"]))
    table.columns.append(flag)
    let texts = table.plain.filter { $0.type == "TEXT" && $0.parent == nil }
    if let text = texts.randomElement(using: &random), random.happens(0.5) {
      table.lower = (nextID, text.id, random.happens(0.5) ? "STORED" : "VIRTUAL")
      nextID += 1
    }
    let columns =
      (table.keys + table.plain).map { DrawnUnique.Column(id: $0.id, type: $0.type) }
      + (table.lower.map { [DrawnUnique.Column(id: $0.id, type: "TEXT")] } ?? [])
    for _ in 0...Int.random(in: 0...1, using: &random) {
      table.uniques.append(
        DrawnUnique(
          nextID, over: columns, flag: .init(id: flag.id, type: flag.type), using: &random))
      nextID += 1
    }
  }

  mutating func column(
    _ name: String, _ isStrict: Bool, _ random: inout SeededGenerator
  ) -> Column {
    numbered(drawn(name, isStrict, &random))
  }

  private func drawn(
    _ name: String, _ isStrict: Bool, _ random: inout SeededGenerator
  ) -> Column {
    let numbers = ["0", "1", "-7", "9007199254740993", "2"]
    switch Int.random(in: 0..<9, using: &random) {
    case 0:
      return Column(
        name: name, type: "INTEGER", constraint: "NOT NULL DEFAULT 0", rule: .counter,
        values: ["{} + 1", "5", "{} - 2"])
    case 1:
      return Column(
        name: name, type: "TEXT", constraint: "NOT NULL DEFAULT '[]'", rule: .set,
        values: ["'[]'", "'[\"a\"]'", "'[\"b\",\"a\"]'", "'[1,\"c\"]'"])
    case 2:
      let rule: MergeRule = random.happens(0.5) ? .max : .min
      return Column(name: name, type: "INTEGER", rule: rule, values: numbers + ["NULL"])
    case 3:
      return Column(
        name: name, type: "TEXT", constraint: "DEFAULT 'mine'", isLocal: true,
        values: ["'l1'", "'l2'"])
    case 4:
      return Column(name: name, type: "REAL", values: ["0.5", "1", "-2.25", "1e300", "NULL"])
    case 5: return Column(name: name, type: "BLOB", values: ["x'00'", "x'0102'", "NULL"])
    case 6:
      return Column(
        name: name, type: "TEXT", constraint: "NOT NULL DEFAULT '' COLLATE NOCASE",
        values: ["'Dune'", "'dune'", "'Ünder'", "''", "NULL"])
    case 7 where !isStrict:
      return Column(name: name, type: "", values: numbers + ["'1'", "1.0", "x'31'", "NULL"])
    default:
      return Column(
        name: name, type: "TEXT", values: ["'Dune'", "'never'", "'Emma'", "'q''uote'", "NULL"])
    }
  }
}

extension String {
  var quotedForSQL: String { "\"" + replacing("\"", with: "\"\"") + "\"" }
}
