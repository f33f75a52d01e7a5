import GRDB
import TernCore
import TernDatabase

/// Reads a table's declaration from the database and refuses, by name, what cannot sync.
struct TableInspection {
  let db: Database
  let declared: SyncTable
  /// Whether the table was accepted before and only its present form is asked for.
  var isInstalled = false
  /// The local column in which folding says which row has a row's place: a UNIQUE index may leave
  /// out the rows where it is not NULL.
  var pointer: String? { declared.collisions.pointer }

  struct RawColumn {
    let name: String
    let type: String
    let affinity: Affinity
    let isNotNull: Bool
    let defaultValue: String?
    let keyIndex: Int
    let isGenerated: Bool
  }

  func refuse(_ code: SchemaError.Code, _ column: String? = nil, _ message: String)
    -> SchemaError
  {
    SchemaError(code, table: declared.name, column: column, message)
  }

  /// The shape without catalogue numbers: those are -1 until ``Catalogue`` gives them.
  func shape() throws -> TableShape {
    let isWithoutRowID = try checkKind()
    let raw = try columns()
    let key = raw.filter { $0.keyIndex > 0 }.sorted { $0.keyIndex < $1.keyIndex }
    let rest = raw.filter { $0.keyIndex == 0 && !$0.isGenerated }
    var refusals = SchemaRefusals()
    if !isInstalled {
      try refusals.collect { try check(key: key, isWithoutRowID: isWithoutRowID) }
      try refusals.collect { try checkDistinct(key + rest) }
      try checkNames(key, rest, &refusals)
      try checkPointer(raw, &refusals)
    }
    let pointer = declared.collisions.pointer?.folded
    let local = Set(declared.local.map(\.folded)).union(pointer.map { [$0] } ?? [])
    let rules = Dictionary(
      declared.merge.map { ($0.key.folded, $0.value) }, uniquingKeysWith: { first, _ in first })
    let synced = try rest.filter { !local.contains($0.name.folded) }.map { column in
      let rule = rules[column.name.folded] ?? .lastWriter
      try refusals.collect { try check(rule: rule, of: column) }
      return TableShape.Column(
        name: column.name, id: -1, rule: rule,
        holdsLookalikes: column.affinity == .blob,
        formerNames: declared.formerNames(of: column.name))
    }
    var shape = TableShape(
      id: -1, name: declared.name, formerNames: declared.formerNames, deletes: declared.deletes,
      keyColumns: key.map(\.name),
      formerKeyNames: key.map { declared.formerNames(of: $0.name) },
      keyAffinities: key.map(\.affinity), columns: synced,
      localColumns: rest.map(\.name).filter { local.contains($0.folded) && $0.folded != pointer },
      pointer: rest.map(\.name).first { $0.folded == pointer }, rules: [],
      foreignKeys: try foreignKeys(raw) { !$0.isGenerated && !local.contains($0.name.folded) })
    shape.automaticColumns = Set(declared.automatic.map(\.folded))
    shape.unsyncedChildren = declared.unsyncedChildren
    let refusedBefore = refusals.count
    shape.uniques = try uniques(raw, in: shape, &refusals)
    if refusals.count == refusedBefore, !isInstalled { try checkCollides(shape, &refusals) }
    try refusals.finish()
    let names = Set(raw.map(\.name.folded))
    shape.rowIDName =
      isWithoutRowID ? nil : ["rowid", "_rowid_", "oid"].first { !names.contains($0) }
    return shape
  }

  /// - Returns: whether the table has no rowid.
  private func checkKind() throws -> Bool {
    let row = try Row.fetchOne(
      db, sql: "SELECT type, wr FROM pragma_table_list(?) WHERE schema = 'main'",
      arguments: [declared.name])
    guard let row else {
      throw refuse(
        .missingTable, nil,
        "the database has no such table; create it in a migration first, or take it "
          + "out of the schema")
    }
    guard row["type"] == "table" else {
      throw refuse(.notATable, nil, "only ordinary tables sync; sync the table behind it instead")
    }
    return row["wr"]
  }

  func columns() throws -> [RawColumn] {
    try Row.fetchAll(
      db,
      sql: """
        SELECT x.*, l.strict FROM pragma_table_list(?1) AS l, pragma_table_xinfo(?1, 'main') AS x
        WHERE l.schema = 'main' ORDER BY x.cid
        """, arguments: [declared.name]
    ).map { row in
      RawColumn(
        name: row["name"], type: row["type"],
        affinity: Affinity(row["type"], isStrict: row["strict"]), isNotNull: row["notnull"],
        defaultValue: row["dflt_value"], keyIndex: row["pk"],
        isGenerated: (row["hidden"] as Int) != 0)
    }
  }

  private func check(key: [RawColumn], isWithoutRowID: Bool) throws {
    guard let first = key.first else {
      throw refuse(
        .noPrimaryKey, nil,
        "rows need an identity that every device agrees on; declare a primary key, "
          + "e.g. id TEXT NOT NULL PRIMARY KEY holding a UUID, or call "
          + "db.rekeyForSync(\"\(declared.name)\") in a migration")
    }
    if key.count == 1, !isWithoutRowID, first.type.folded == "integer" {
      throw refuse(
        .integerRowIDKey, first.name,
        "two devices would give the same number to different rows; give it a TEXT or BLOB key "
          + "holding a UUID: call db.rekeyForSync(\"\(declared.name)\") in a migration")
    }
    for column in key {
      if !column.isNotNull && !isWithoutRowID {
        throw refuse(
          .nullableKey, column.name,
          "SQLite lets such a key hold NULL, and then it names no row; "
            + "declare it NOT NULL")
      }
      let affinity = column.affinity
      guard affinity == .text || affinity == .blob || affinity == .integer else {
        throw refuse(
          .unsupportedKey, column.name,
          "keys of type “\(column.type)” can be equal without being "
            + "the same; declare it TEXT, BLOB or INTEGER")
      }
    }
    for column in key {
      let collation = db.collation(of: column.name, in: declared.name) ?? "BINARY"
      if collation.folded != "binary" { throw refuse(collation, ofKey: column.name) }
    }
    let collations = try Row.fetchAll(
      db,
      sql: """
        SELECT x.name, x.coll FROM pragma_index_list(?, 'main') AS i, pragma_index_xinfo(i.name, 'main') AS x
        WHERE i.origin = 'pk' AND x.key AND x.coll <> 'BINARY'
        """, arguments: [declared.name])
    if let other = collations.first { throw refuse(other["coll"], ofKey: other["name"]) }
  }

  private func refuse(_ collation: String, ofKey column: String) -> SchemaError {
    refuse(
      .unsupportedKey, column,
      "the collation \(collation) makes different keys equal; declare the column and the key "
        + "COLLATE BINARY")
  }

  /// SQLite tells names apart by their bytes, and Swift does not.
  private func checkDistinct(_ columns: [RawColumn]) throws {
    var names: [String: String] = [:]
    for column in columns {
      guard let other = names.updateValue(column.name, forKey: column.name.folded) else { continue }
      throw refuse(
        .ambiguousColumn, column.name,
        "but for the way an accent is written it has the name of another column, “\(other)”; "
          + "rename one of them in a migration")
    }
  }

  private func checkNames(
    _ key: [RawColumn], _ rest: [RawColumn], _ refusals: inout SchemaRefusals
  ) throws {
    let known = Set(rest.map(\.name.folded))
    let keys = Set(key.map(\.name.folded))
    let former = Set(declared.formerColumnNames.values.map(\.folded))
    let renamed = declared.formerColumnNames.keys.filter {
      !former.contains($0.folded) && !keys.contains($0.folded)
    }
    let pointers = declared.collisions.pointer.map { [$0] } ?? []
    let named =
      Array(declared.merge.keys) + declared.local + declared.automatic + renamed + pointers
    for name in named.sorted() where !known.contains(name.folded) {
      try refusals.collect {
        throw refuse(
          .unknownColumn, name,
          "the schema names it, but the table has no such column, or it is part "
            + "of the key or generated; correct the name or take it out of the schema")
      }
    }
    var ruled: Set<String> = []
    for name in declared.merge.keys.sorted().reversed() {
      try refusals.collect {
        guard ruled.insert(name.folded).inserted else {
          throw refuse(
            .unsupportedRule, name, "the schema gives it a rule twice; keep one of them")
        }
        guard !declared.local.contains(where: { $0.folded == name.folded }) else {
          throw refuse(
            .unsupportedRule, name,
            "it has a rule and is local, and a local column never merges; take one of them away")
        }
      }
    }
    for column in rest where declared.local.contains(where: { $0.folded == column.name.folded }) {
      try refusals.collect {
        guard !column.isNotNull || column.defaultValue != nil else {
          throw refuse(
            .localWithoutDefault, column.name,
            "rows that arrive have no value for a local column; "
              + "give it a default or let it be NULL")
        }
      }
    }
  }

  private func check(rule: MergeRule, of column: RawColumn) throws {
    if rule == .set {
      guard column.affinity == .text, column.isNotNull,
        column.defaultValue == nil || column.defaultValue == "'[]'"
      else {
        throw refuse(
          .unsupportedRule, column.name,
          "a set is a JSON array; declare it TEXT NOT NULL DEFAULT '[]'")
      }
    }
    if rule == .order {
      let collation = db.collation(of: column.name, in: declared.name)
      guard column.affinity == .text, collation?.folded == "binary" else {
        throw refuse(
          .unsupportedRule, column.name,
          "an order sorts texts by their bytes; declare it TEXT, COLLATE BINARY")
      }
    }
    if rule == .text {
      guard column.affinity == .text, column.isNotNull,
        column.defaultValue == nil || column.defaultValue == "''"
      else {
        throw refuse(
          .unsupportedRule, column.name,
          "a text that merges is never NULL; declare it TEXT NOT NULL DEFAULT ''")
      }
    }
    guard rule == .counter else { return }
    // With another default every device would count the default as its own addition.
    guard column.affinity == .integer, column.isNotNull,
      column.defaultValue == nil || column.defaultValue == "0"
    else {
      throw refuse(
        .unsupportedRule, column.name,
        "a counter adds whole numbers; declare it INTEGER NOT NULL "
          + "DEFAULT 0")
    }
  }

  /// Without those whose parent or its columns are not there: SQLite takes such a declaration,
  /// refuses every write to the child while foreign keys are on, and otherwise leaves it be, as
  /// a merge does.
  private func foreignKeys(_ raw: [RawColumn], travels: (RawColumn) -> Bool) throws
    -> [TableShape.ForeignKey]
  {
    try DeclaredForeignKey.all(of: declared.name, db).compactMap { key in
      guard let parentColumns = try key.parentColumns(db) else { return nil }
      let columns = key.columns.map { name in raw.first { $0.name.folded == name.folded }! }
      return TableShape.ForeignKey(
        columns: key.columns, parent: key.parent, parentColumns: parentColumns,
        affinities: columns.map(\.affinity), travels: columns.map(travels),
        onDelete: key.onDelete)
    }
  }
}

/// A column's affinity, from its declared type.
///
/// - Source: <https://www.sqlite.org/datatype3.html#determination_of_column_affinity>
package enum Affinity: Hashable, Sendable {
  case integer, text, blob, real, numeric

  /// Whether a column of it holds every value that one of another holds, as it is.
  func keepsValues(of other: Affinity) -> Bool {
    let areNumbers = [.integer, .numeric].contains(self) && [.integer, .numeric].contains(other)
    return self == .blob || self == other || areNumbers
  }

  /// What a column of it makes of a value; `nil` where SQLite would have to say.
  func stored(_ value: SQLiteValue) -> SQLiteValue? {
    switch (self, value) {
    case (.blob, _), (_, .null), (_, .blob), (.text, .text), (.real, .real): return value
    case (.integer, .integer), (.numeric, .integer): return value
    case (.text, .integer(let number)): return .string("\(number)")
    case (.real, .integer(let number)): return .real(Double(number))
    case (.integer, .text), (.numeric, .text):
      let number = value.string.flatMap { Int64($0) }
      return number.flatMap { value == .string("\($0)") ? .integer($0) : nil }
    default: return nil
    }
  }

  /// - Parameter isStrict: whether it is a STRICT table's, where ANY is no type.
  init(_ type: String, isStrict: Bool = false) {
    let type = type.folded
    if type.contains("int") {
      self = .integer
    } else if ["char", "clob", "text"].contains(where: type.contains) {
      self = .text
    } else if type.isEmpty || type.contains("blob") || isStrict && type == "any" {
      self = .blob
    } else if ["real", "floa", "doub"].contains(where: type.contains) {
      self = .real
    } else {
      self = .numeric
    }
  }
}
