import TernCore
import TernDatabase

/// The statements of one synced table that run once a row. Keys are bound first.
///
/// A class, because its many strings are dear to copy.
final class TableSQL: Sendable {
  let shape: TableShape
  /// Of the shape, which a computed property copies each time.
  let isPlain: Bool
  let maskCount: Int
  let note: NoteSQL
  /// What the table's rows in an operation begin with.
  let heading: [UInt8]
  /// How many tables and columns it names.
  let headingNames: Int
  /// Columns: ms, masks, keys, life, time, author, covered, cells, where the values are from (1:
  /// the row, 2: what it held when it was deleted, 0: nowhere), values.
  let scanNotes: String
  /// The same of one note. Bound: its rowid.
  let scanNote: String
  /// Columns: of the first note, ms.
  let firstNoteTime: String
  /// Columns: rowid, ms; the last note first.
  let noteTimesBackwards: String
  /// Columns: rowid, masks, keys; the last note first.
  let notesBackwards: String
  let deleteNotes: String
  /// Of keys that were changed: the one before, and the one now.
  let movedKeys: String
  /// For each foreign key: yields a row when the row with the bound key lacks its parent.
  let orphan: [String]
  /// For each foreign key, the keys of noted rows that lack their parent.
  let notedOrphans: [String]
  /// Columns: life, time, author, covered, cells.
  let readState: String
  /// Bound after the key: life, time, author, covered, cells. Inserting leaves a state that stands
  /// there alone, putting writes over it.
  let insertState: String
  let putState: String
  /// Writes every column that travels of a row, new or not.
  let upsertAll: String
  /// The same for ``batchRows`` rows, bound one behind the other: a statement costs thousands of
  /// instructions before its first row, where a trigger makes SQLite keep what each page held
  /// before it even more.
  let insertStates: String
  let putStates: String
  let upsertAllRows: String
  /// Fewer for wide tables, and 1 for those where it is not worth it.
  let batchRows: Int
  let delete: String
  /// Gives a row's key the one form that all devices show, where the table can hold another:
  /// the whole number 1 for 1.0.
  let settleKey: String?
  /// Columns: a number, those that travel, local ones.
  let read: String
  /// What a deleted row held, local columns included, and how to forget all that.
  let readGone: String
  let deleteGone: String

  init(shape: TableShape, prefix: String) {
    let note = NoteSQL(prefix: prefix, shape: shape)
    let builder = Builder(shape: shape, note: note)
    self.shape = shape
    (isPlain, maskCount) = (shape.isPlain, shape.maskCount)
    self.note = note
    var heading = ByteWriter()
    heading.append(block: shape.block)
    (self.heading, headingNames) = (heading.bytes, shape.block.nameCount)
    scanNotes = builder.scanNotes + " ORDER BY n.rowid"
    scanNote = builder.scanNotes + " WHERE n.rowid = ?1"
    firstNoteTime = "SELECT ms FROM \(note.noteTable) ORDER BY rowid LIMIT 1"
    notesBackwards = """
      SELECT \((["rowid"] + note.maskNames + note.keyNames).joined(separator: ", "))
      FROM \(note.noteTable) ORDER BY rowid DESC
      """
    noteTimesBackwards = "SELECT rowid, ms FROM \(note.noteTable) ORDER BY rowid DESC"
    deleteNotes = "DELETE FROM \(note.noteTable)"
    movedKeys = builder.movedKeys
    orphan = shape.foreignKeys.map(builder.orphan)
    notedOrphans = shape.foreignKeys.map(builder.notedOrphans)
    readState = builder.readState
    insertState = builder.insertState
    putState = builder.putState
    upsertAll = builder.upsert(shape.columns.map(\.name))
    let width = shape.keyColumns.count + max(shape.columns.count, 5)
    batchRows = width > 100 ? 1 : min(32, 800 / width)
    insertStates = builder.insertStates(batchRows)
    putStates = builder.putStates(batchRows)
    upsertAllRows = builder.upsert(shape.columns.map(\.name), rows: batchRows)
    delete = builder.delete
    settleKey = shape.keyHoldsLookalikes ? builder.settleKey : nil
    read = builder.read
    readGone = builder.readGone
    deleteGone = "DELETE FROM \(note.goneTable)"
  }

  /// Writes the given columns of a row, new or not. Bound after the key: the columns.
  func upsert(_ columns: [String]) -> String {
    Builder(shape: shape, note: note).upsert(columns)
  }

  /// Changes the given columns of a row. Bound after the key: the columns.
  ///
  /// - Parameter isPlain: without a conflict clause.
  func update(_ columns: [String], isPlain: Bool = false) -> String {
    Builder(shape: shape, note: note).update(columns, isPlain: isPlain)
  }

  /// Writes the given columns of a new row, without a conflict clause. Bound after the key: the
  /// columns.
  func insert(_ columns: [String]) -> String {
    Builder(shape: shape, note: note).insert(columns)
  }
}

private struct Builder {
  let shape: TableShape
  let note: NoteSQL

  private var table: String { shape.qualifiedName }
  private var keyCount: Int { shape.keyColumns.count }

  private func matches(_ left: [String], _ right: [String]) -> String {
    zip(left, right).map { "\($0) = \($1)" }.joined(separator: " AND ")
  }

  private func parameters(_ count: Int, from first: Int = 1) -> [String] {
    (first..<first + count).map { "?\($0)" }
  }

  /// Of so many rows with so many values each.
  private func rows(_ count: Int, of width: Int) -> String {
    (0..<count).map { row in
      "(\(parameters(width, from: row * width + 1).joined(separator: ", ")))"
    }.joined(separator: ", ")
  }

  var scanNotes: String {
    let keys = note.keyNames
    let columns =
      ["n.ms"] + note.maskNames.map { "n.\($0)" } + keys.map { "n.\($0)" }
      + ["r.life", "r.time", "r.author", "r.covered", "r.cells"]
      + values
    return """
      SELECT \(columns.joined(separator: ", ")) FROM \(note.noteTable) AS n
      LEFT JOIN \(note.rowTable) AS r ON \(matches(keys.map { "r.\($0)" }, keys.map { "n.\($0)" }))
      LEFT JOIN \(table) AS t
        ON \(matches(shape.keyColumns.map { "t.\($0.quoted)" }, keys.map { "n.\($0)" }))
      \(joinedGone)
      """
  }

  /// One trigger makes both notes, one right behind the other.
  var movedKeys: String {
    let keys = ["f", "n"].flatMap { table in note.keyNames.map { "\(table).\($0)" } }
    return "SELECT \(keys.joined(separator: ", ")) FROM \(note.noteTable) AS n "
      + "JOIN \(note.noteTable) AS f ON f.rowid = n.rowid - 1 "
      + "WHERE n.m0 = '\(NoteSQL.Mark.moved)' ORDER BY n.rowid"
  }

  func orphan(_ foreignKey: TableShape.ForeignKey) -> String {
    let keys = shape.keyColumns.map { "c.\($0.quoted)" }
    return "SELECT 1 FROM \(table) AS c WHERE \(matches(keys, parameters(keyCount))) "
      + "AND \(foreignKey.lacksParent)"
  }

  /// A plain JOIN could begin with the table's rows, which may be many.
  func notedOrphans(_ foreignKey: TableShape.ForeignKey) -> String {
    let keys = shape.keyColumns.map { "c.\($0.quoted)" }
    return "SELECT \(keys.joined(separator: ", ")) FROM \(note.noteTable) AS n "
      + "CROSS JOIN \(table) AS c WHERE \(matches(keys, note.keyNames.map { "n.\($0)" })) "
      + "AND \(foreignKey.lacksParent)"
  }

  /// Whether the row exists, and its values.
  private var values: [String] {
    let exists = "t.\(shape.keyColumns[0].quoted) IS NOT NULL"
    guard shape.deletes.keepsContent else {
      return [exists] + shape.columns.map { "t.\($0.name.quoted)" }
    }
    return ["CASE WHEN \(exists) THEN 1 WHEN g.k0 IS NOT NULL THEN 2 ELSE 0 END"]
      + shape.columns.map { "CASE WHEN \(exists) THEN t.\($0.name.quoted) ELSE g.c\($0.id) END" }
  }

  /// Of a key that went several times the first row: that which the state knows.
  private var joinedGone: String {
    guard shape.deletes.keepsContent else { return "" }
    let match = matches(note.keyNames, note.keyNames.map { "n.\($0)" })
    return "LEFT JOIN \(note.goneTable) AS g ON g.rowid = "
      + "(SELECT min(rowid) FROM \(note.goneTable) WHERE \(match))"
  }

  var readGone: String {
    let names = note.goneColumns.map(\.name)
    return "SELECT \((["1"] + names).joined(separator: ", ")) FROM \(note.goneTable) "
      + "WHERE \(matches(note.keyNames, parameters(keyCount))) ORDER BY rowid LIMIT 1"
  }

  var readState: String {
    "SELECT life, time, author, covered, cells FROM \(note.rowTable) WHERE "
      + matches(note.keyNames, parameters(keyCount))
  }

  var insertState: String {
    "INSERT INTO \(note.rowTable) VALUES \(rows(1, of: keyCount + 5)) ON CONFLICT DO NOTHING"
  }

  /// IGNORE, because with ON CONFLICT a NULL could still end the statement, and SQLite would keep
  /// all pages as they were before it.
  func insertStates(_ count: Int) -> String {
    "INSERT OR IGNORE INTO \(note.rowTable) VALUES \(rows(count, of: keyCount + 5))"
  }

  /// Without triggers, foreign keys and other indices SQLite replaces with one search, where an
  /// UPDATE takes three.
  var putState: String { putStates(1) }

  func putStates(_ count: Int) -> String {
    "REPLACE INTO \(note.rowTable) VALUES \(rows(count, of: keyCount + 5))"
  }

  func upsert(_ columns: [String], rows count: Int = 1) -> String {
    let names = (shape.keyColumns + columns).map(\.quoted).joined(separator: ", ")
    let values = rows(count, of: keyCount + columns.count)
    let action =
      columns.isEmpty
      ? "NOTHING"
      : "UPDATE SET "
        + columns.map { "\($0.quoted) = excluded.\($0.quoted)" }.joined(separator: ", ")
    // The collation is said, because a UNIQUE index of the key under another one would be as good.
    let key = shape.keyColumns.map { "\($0.quoted) COLLATE BINARY" }.joined(separator: ", ")
    // OR ABORT, because the table's own conflict clauses could end the merge's transaction or leave
    // the row out in silence.
    return
      "INSERT OR ABORT INTO \(table) (\(names)) VALUES \(values) ON CONFLICT (\(key)) DO \(action)"
  }

  func update(_ columns: [String], isPlain: Bool) -> String {
    let sets = zip(columns, parameters(columns.count, from: keyCount + 1))
      .map { "\($0.quoted) = \($1)" }.joined(separator: ", ")
    return "UPDATE \(isPlain ? "" : "OR ABORT ")\(table) SET \(sets) WHERE \(keyMatch)"
  }

  func insert(_ columns: [String]) -> String {
    let names = (shape.keyColumns + columns).map(\.quoted)
    return "INSERT INTO \(table) (\(names.joined(separator: ", "))) "
      + "VALUES \(rows(1, of: names.count))"
  }

  var delete: String { "DELETE FROM \(table) WHERE \(keyMatch)" }

  /// SQLite holds both forms equal, in foreign keys and for the triggers too.
  var settleKey: String {
    let sets = zip(shape.keyColumns, parameters(keyCount)).map { "\($0.quoted) = \($1)" }
    let isReal = shape.keyColumns.map { "typeof(\($0.quoted)) = 'real'" }
    return "UPDATE OR ABORT \(table) SET \(sets.joined(separator: ", ")) "
      + "WHERE \(keyMatch) AND (\(isReal.joined(separator: " OR ")))"
  }

  var read: String {
    let names = shape.columns.map(\.name) + shape.localColumns
    return "SELECT \((["1"] + names.map(\.quoted)).joined(separator: ", ")) FROM \(table) "
      + "WHERE \(keyMatch)"
  }

  private var keyMatch: String {
    matches(shape.keyColumns.map(\.quoted), parameters(keyCount))
  }
}
