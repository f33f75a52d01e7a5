import TernCore

/// The SQL of capture: one note table and a few triggers a synced table.
///
/// Names begin with `grdb_`, because GRDB leaves such objects out when it compares schemas for
/// `eraseDatabaseOnSchemaChange`. The bodies are plain SQL, so that every program that writes to
/// the file is captured, and append to a table without constraints, which no conflict clause of
/// the outer statement can reach.
struct NoteSQL {
  let prefix: String
  let shape: TableShape
  /// Whether the triggers are those of a Tern that counted its own writes too. They stand in a file
  /// that was not opened since.
  var isFormer = false

  /// What the first mask is of some notes, in place of a number. The others are NULL then.
  enum Mark: String {
    case maybe, standing
    /// Of a row that was inserted under a key that another had: the note before is of that one.
    case moved
  }

  /// The wall clock as the writer's SQLite has it, in milliseconds since 1970.
  static let milliseconds = "CAST((julianday() - 2440587.5) * 86400000.0 AS INTEGER)"

  var noteTable: String { "\(prefix)note_\(shape.id)" }
  var rowTable: String { "\(prefix)row_\(shape.id)" }

  /// What deleted rows held, until the seal: only where the table keeps that.
  var goneTable: String { "\(prefix)gone_\(shape.id)" }

  /// The columns of ``noteTable``.
  var noteColumns: [String] { ["ms"] + maskNames + keyNames }

  var keyNames: [String] { shape.keyColumns.indices.map { "k\($0)" } }
  var maskNames: [String] { (0..<shape.maskCount).map { "m\($0)" } }

  /// The columns of ``goneTable`` beside the key, and the app's columns that they hold.
  var goneColumns: [(name: String, column: String)] {
    shape.columns.map { ("c\($0.id)", $0.name) }
      + shape.localColumns.enumerated().map { ("l\($0)", $1) }
  }

  /// Its definition, and that of the index by which a seal finds a key's last row. In `maybe` is 1
  /// for a row that may have stayed.
  var goneCreation: [String] {
    let names = keyNames + goneColumns.map(\.name) + (shape.uniques.isEmpty ? [] : ["maybe"])
    return [
      "CREATE TABLE \(goneTable) (\(names.joined(separator: ", ")))",
      "CREATE INDEX \(goneTable)_key ON \(goneTable) (\(keyNames.joined(separator: ", ")))",
    ]
  }

  private var keepGone: [String] {
    guard shape.deletes.keepsContent else { return [] }
    let values = (shape.keyColumns + goneColumns.map(\.column)).map { "OLD.\($0.quoted)" }
    return forgetMaybeGone + [
      "INSERT INTO \(goneTable) (\((keyNames + goneColumns.map(\.name)).joined(separator: ", "))) "
        + "VALUES (\(values.joined(separator: ", ")))"
    ]
  }

  /// Notes keep their order by rowid, and have neither types nor constraints: each costs every
  /// noted row, and only the triggers write here.
  var tables: [String] {
    let keys = keyNames.map { "\($0) NOT NULL" }.joined(separator: ", ")
    return [
      """
      CREATE TABLE IF NOT EXISTS \(noteTable) (
        \(noteColumns.joined(separator: ", ")))
      """,
      """
      CREATE TABLE IF NOT EXISTS \(rowTable) (
        \(keys), life INTEGER NOT NULL, time INTEGER NOT NULL, author INTEGER NOT NULL,
        covered INTEGER NOT NULL, cells BLOB, PRIMARY KEY (\(keyNames.joined(separator: ", ")))
      ) WITHOUT ROWID
      """,
    ]
  }

  /// Whether a row can be veiled, and has to hold under another key what it does not show.
  var notesMoves: Bool { shape.foreignKeys.contains(where: shape.isReleased) }

  var triggers: [(name: String, sql: String)] {
    var triggers = [
      trigger("insert", "AFTER INSERT", [note("NEW", masks: allColumns)]),
      trigger("delete", "AFTER DELETE", [note("OLD", masks: noColumns())] + keepGone),
      trigger(
        "key", "AFTER UPDATE OF \(names(shape.keyColumns))", when: keyDiffers,
        [note("OLD", masks: noColumns())] + keepGone
          + [note("NEW", masks: notesMoves ? noColumns(.moved) : allColumns)]),
    ]
    if !shape.columns.isEmpty {
      triggers.append(
        trigger(
          "update", "AFTER UPDATE OF \(names(shape.columns.map(\.name)))",
          [note("NEW", masks: changedMasks(differs))]))
    }
    let guarded = shape.columns.filter { [.counter, .set, .text].contains($0.rule) }
    if !guarded.isEmpty { triggers.append(contentsOf: guards(guarded)) }
    if !Planted.isActive(.replaceUnnoted) { triggers.append(contentsOf: replaceTriggers) }
    return triggers
  }

  func trigger(_ kind: String, _ event: String, when: String? = nil, _ body: [String])
    -> (name: String, sql: String)
  {
    let name = "\(prefix)\(kind)_\(shape.id)"
    let condition = when.map { " WHEN \($0)" } ?? ""
    let sql = """
      CREATE TRIGGER \(name) \(event) ON \(shape.name.quoted)\(condition) BEGIN
        \(body.joined(separator: ";\n  "));
      END
      """
    return (name, sql)
  }

  private func note(_ row: String, masks: [String]) -> String {
    let keys = shape.keyColumns.map { "\(row).\($0.quoted)" }
    return "\(noteHead) VALUES (\(([Self.milliseconds] + masks + keys).joined(separator: ", ")))"
  }

  /// Notes the rows of a query.
  ///
  /// - Parameter rows: the query from its FROM on.
  func noteEach(masks: [String], keys: [String], _ rows: String) -> String {
    let values = [Self.milliseconds] + masks + keys
    return "\(noteHead) SELECT \(values.joined(separator: ", ")) \(rows)"
  }

  private var noteHead: String {
    "INSERT INTO \(noteTable) (\(noteColumns.joined(separator: ", ")))"
  }

  var allColumns: [String] { maskNames.map { _ in "-1" } }
  /// Of a row that went NULL, since an update that changes nothing has a mask without a bit too.
  func noColumns(_ mark: Mark? = nil) -> [String] {
    [mark.map { "'\($0)'" } ?? "NULL"] + maskNames.dropFirst().map { _ in "NULL" }
  }

  func masks(of columns: [TableShape.Column]) -> [String] {
    maskNames.indices.map { word in
      let columns = columns.filter { $0.id / TableShape.maskBits == word }
      return "\(columns.reduce(0) { $0 | 1 << ($1.id % TableShape.maskBits) })"
    }
  }

  /// - Parameter differs: the condition that a column changed.
  func changedMasks(_ differs: (TableShape.Column) -> String) -> [String] {
    maskNames.indices.map { word in
      let columns = shape.columns.filter { $0.id / TableShape.maskBits == word }
      if columns.isEmpty { return "0" }
      return columns.map { column in
        let bit = column.id % TableShape.maskBits
        return "((\(differs(column)))\(bit == 0 ? "" : " << \(bit)"))"
      }.joined(separator: " | ")
    }
  }

  /// Whether type or bytes changed. Only columns without an affinity that settles it can hold 1
  /// beside 1.0. From 0.0 to −0.0 is no change to any SQL that every build of SQLite has.
  func differs(_ column: TableShape.Column, _ old: String, _ new: String) -> String {
    let plain = "\(old) IS NOT \(new) COLLATE BINARY"
    guard column.holdsLookalikes else { return plain }
    // OR would evaluate both sides.
    return "CASE WHEN \(plain) THEN 1 ELSE typeof(\(old)) <> typeof(\(new)) END"
  }

  private func differs(_ column: TableShape.Column) -> String {
    differs(column, "OLD.\(column.name.quoted)", "NEW.\(column.name.quoted)")
  }

  private var keyDiffers: String {
    shape.keyColumns.map { "OLD.\($0.quoted) IS NOT NEW.\($0.quoted)" }.joined(separator: " OR ")
  }

  private func guards(_ columns: [TableShape.Column]) -> [(name: String, sql: String)] {
    let refusals = columns.map { column in
      let value = "NEW.\(column.name.quoted)"
      let (kind, content, isRefused) =
        switch column.rule.kind {
        case .counter: ("counter", "64-bit whole number", "typeof(\(value)) <> 'integer'")
        case .text: ("text", "text", "typeof(\(value)) <> 'text'")
        default:
          ("set", "JSON array of texts and numbers", SetText.isRefused(value, isCounted: isFormer))
        }
      let what = "\(kind) \(column.name) must hold a \(content)"
      let literal = "'" + "tern: the \(what)".replacing("'", with: "''") + "'"
      return "SELECT RAISE(ABORT, \(literal)) WHERE \(isRefused)"
    }
    return [
      trigger("guard_insert", "AFTER INSERT", refusals),
      trigger("guard_update", "AFTER UPDATE OF \(names(columns.map(\.name)))", refusals),
    ] + sizeGuards
  }

  func names(_ columns: [String]) -> String {
    columns.map(\.quoted).joined(separator: ", ")
  }
}
