import GRDB
import TernCore
import TernDatabase

/// Reads one UNIQUE index of a table: its own text, where it computes anything.
final class IndexReading {
  private let inspection: TableInspection
  private let columns: [TableInspection.RawColumn]
  private let shape: TableShape
  /// The columns that decide, in the order in which they are met.
  private var inputs: [TableShape.IndexedColumn] = []
  private var generated: [TableShape.ComputedIndex.GeneratedColumn] = []
  private var used = BuiltIns()
  /// The table's text, and where in it each column is declared, once that is read.
  private var declaration: (text: SQLText, definitions: [Range<Int>])?

  init(
    _ inspection: TableInspection, _ columns: [TableInspection.RawColumn], _ shape: TableShape
  ) {
    (self.inspection, self.columns, self.shape) = (inspection, columns, shape)
  }

  /// - Parameters:
  ///   - sql: the index's text, empty for that of a constraint.
  ///   - parts: each term's column, `nil` for an expression, and collation.
  func unique(
    _ name: String, _ sql: String, _ parts: [(name: String?, collation: String)], isPartial: Bool
  ) throws -> TableShape.Unique {
    for part in parts {
      guard ExpressionParser.allowedCollations.contains(part.collation.folded) else {
        throw UnsupportedExpression.collation(part.collation, column: part.name)
      }
      used.collations.insert(part.collation.folded)
    }
    let isPlain = parts.allSatisfy { part in
      part.name.flatMap(column).map { !$0.isGenerated } ?? false
    }
    if isPlain, !isPartial {
      for part in parts { try note(column(part.name!)!, collation: part.collation) }
      try checkBuiltIns()
      return TableShape.Unique(name: name, columns: inputs)
    }
    let computed = try computed(SQLText(sql), parts, isPartial: isPartial)
    try checkBuiltIns()
    return TableShape.Unique(name: name, columns: inputs, computed: computed)
  }

  private func computed(
    _ text: SQLText, _ parts: [(name: String?, collation: String)], isPartial: Bool
  ) throws -> TableShape.ComputedIndex {
    let isRead = isPartial || parts.contains { $0.name == nil }
    let texts = isRead ? text.indexParts() : nil
    if isRead, texts?.terms.count != parts.count || (texts?.condition != nil) != isPartial {
      throw UnsupportedExpression("can't be read", "make the index a plain one")
    }
    let terms = try parts.enumerated().map { number, part in
      let expression: IndexExpression
      if let name = part.name {
        _ = try value(of: name, isCondition: false)
        expression = IndexExpression(column: name)
      } else {
        expression = try read(text, texts!.terms[number], isTerm: true)
      }
      return TableShape.ComputedIndex.Term(expression: expression, collation: part.collation)
    }
    let condition = try texts?.condition.map { try read(text, $0, isCondition: true) }
    var index = TableShape.ComputedIndex(
      terms: terms, condition: condition, generated: generated, pointer: inspection.pointer)
    if let pointer = inspection.pointer, let found = text.indexPointer() {
      index.isPointed =
        found.folded == pointer.folded
        && condition?.names.count { $0.folded == pointer.folded } == 1
      index.isPlainBesidePointer =
        index.isPointed && condition?.names.count == 1 && texts!.condition!.count == 3
        && parts.allSatisfy { $0.name.flatMap(column).map { !$0.isGenerated } ?? false }
    }
    return index
  }

  private func read(
    _ text: SQLText, _ range: Range<Int>, isTerm: Bool = false, isCondition: Bool = false
  ) throws -> IndexExpression {
    var parser = ExpressionParser(text, range) { [unowned self] name in
      try value(of: name, isCondition: isCondition)
    }
    let expression = try parser.read(isTerm: isTerm)
    used.formUnion(parser.used)
    return expression
  }

  // MARK: - Columns

  private func column(_ name: String) -> TableInspection.RawColumn? {
    columns.first { $0.name.folded == name.folded }
  }

  private func value(of name: String, isCondition: Bool) throws -> ExpressionValue? {
    guard let column = column(name) else { return nil }
    let collation = inspection.db.collation(of: column.name, in: shape.name) ?? "BINARY"
    guard ExpressionParser.allowedCollations.contains(collation.folded) else {
      throw UnsupportedExpression.collation(collation, column: column.name)
    }
    used.collations.insert(collation.folded)
    if column.isGenerated {
      try note(generated: column, collation: collation)
    } else {
      try note(column, collation: collation, mayBePointer: isCondition)
    }
    return ExpressionValue(column: column.name, column.affinity)
  }

  private func note(
    _ column: TableInspection.RawColumn, collation: String, mayBePointer: Bool = false
  ) throws {
    let isPointer = mayBePointer && inspection.pointer?.folded == column.name.folded
    let synced = shape.columns.first { $0.name.folded == column.name.folded }
    if column.keyIndex == 0, synced == nil, !isPointer {
      throw UnsupportedExpression(
        "names a local column, whose values do not travel", column: column.name,
        "let the column sync, or make the index a plain one")
    }
    if let synced, synced.rule != .lastWriter {
      throw UnsupportedExpression(
        "names a column that merges by .\(synced.rule), and what the merge computes nobody can keep "
          + "unique", column: column.name, "let it be .lastWriter, or make the index a plain one")
    }
    if inputs.contains(where: { $0.name == column.name }) { return }
    inputs.append(
      TableShape.IndexedColumn(
        name: column.name, affinity: column.affinity, collation: collation,
        defaultValue: column.defaultValue ?? "NULL", isNotNull: column.isNotNull))
  }

  private func note(generated column: TableInspection.RawColumn, collation: String) throws {
    if generated.contains(where: { $0.name == column.name }) { return }
    if declaration == nil { declaration = try readDeclaration() }
    guard let (text, definitions) = declaration,
      let place = columns.firstIndex(where: { $0.name == column.name }),
      let range = text.generatedExpression(definitions[place])
    else {
      throw UnsupportedExpression(
        "names a generated column whose declaration can't be read", column: column.name,
        "make the index a plain one")
    }
    let expression: IndexExpression
    do {
      expression = try read(text, range)
    } catch var error as UnsupportedExpression {
      // What is wrong is the generated column's own.
      error.column = error.column ?? column.name
      throw error
    }
    generated.append(
      TableShape.ComputedIndex.GeneratedColumn(
        name: column.name, affinity: column.affinity, collation: collation, expression: expression))
  }

  private func readDeclaration() throws -> (text: SQLText, definitions: [Range<Int>])? {
    let sql = try String.fetchOne(
      inspection.db,
      sql: """
        SELECT sql FROM main.sqlite_master WHERE type = 'table' AND name = ? COLLATE NOCASE
        """, arguments: [shape.name])
    guard let sql else { return nil }
    let text = SQLText(sql)
    guard let definitions = text.columnDefinitions(columns.count),
      zip(definitions, columns).allSatisfy({
        text.tokens[$0.lowerBound].name.folded == $1.name.folded
      })
    else { return nil }
    return (text, definitions)
  }

  // MARK: - Functions and collations

  private func checkBuiltIns() throws {
    if inspection.isInstalled { return }
    guard let replaced = try used.replaced(in: inspection.db) else { return }
    throw UnsupportedExpression(
      "uses \(replaced), which the app or its SQLite has replaced",
      "give the app's own another name, or make the index a plain one")
  }
}

/// The functions and collations of SQLite's that an index uses, by folded name.
struct BuiltIns {
  var functions: Set<String> = []
  var collations: Set<String> = []

  mutating func formUnion(_ other: BuiltIns) {
    functions.formUnion(other.functions)
    collations.formUnion(other.collations)
  }

  /// Where SQLite's own are true.
  private static let functionProbes = [
    "coalesce": "coalesce(NULL, NULL, 2, 3) IS 2 AND coalesce(NULL, 4) IS 4",
    "ifnull": "ifnull(NULL, 2) IS 2 AND ifnull(1, 2) IS 1",
    "nullif": "nullif(1, 1) IS NULL AND nullif('a', 'A') IS 'a'",
    "lower": "lower('aÄZ 1') IS 'aÄz 1'", "upper": "upper('aäz 1') IS 'AäZ 1'",
    "trim": "trim('  a' || char(160) || ' ') IS 'a' || char(160) AND trim('xax', 'x') IS 'a'",
    "substr": "substr('aäz', 2, 1) IS 'ä' AND substr('aäz', -2) IS 'äz'",
    "length": "length('aäz') IS 3 AND length(x'0000') IS 2",
    "replace": "replace('aäA', 'a', 'zz') IS 'zzäA'",
  ]
  private static let collationProbes = [
    "nocase":
      "'aZ ' = 'Az ' COLLATE NOCASE AND 'ä' <> 'Ä' COLLATE NOCASE AND 'a' <> 'a ' COLLATE NOCASE",
    "rtrim":
      "'a  ' = 'a' COLLATE RTRIM AND ' a' <> 'a' COLLATE RTRIM AND 'A' <> 'a' COLLATE RTRIM",
  ]

  /// One that is another than SQLite's own, as an error names it.
  func replaced(in db: Database) throws -> String? {
    // A build may leave the pragma out. Then the probes alone tell.
    let own = try appFunctions(in: db)
    for name in functions.sorted() {
      if try own.contains(name) || !holds(Self.functionProbes[name]!, db) { return "\(name)()" }
    }
    for name in collations.sorted() {
      if let probe = Self.collationProbes[name], try !holds(probe, db) {
        return "the collation \(name.uppercased())"
      }
    }
    return nil
  }

  /// None where SQLite was built without the list: the probes alone tell then.
  private func appFunctions(in db: Database) throws -> Set<String> {
    do {
      let names = try String.fetchAll(
        db, sql: "SELECT DISTINCT name FROM pragma_function_list WHERE NOT builtin")
      return Set(names.map(\.folded))
    } catch let error as DatabaseError where error.resultCode == .SQLITE_ERROR {
      return []
    }
  }

  private func holds(_ probe: String, _ db: Database) throws -> Bool {
    do {
      return try Bool.fetchOne(db, sql: "SELECT \(probe)") ?? false
    } catch let error as DatabaseError where error.resultCode == .SQLITE_ERROR {
      return false
    }
  }
}
