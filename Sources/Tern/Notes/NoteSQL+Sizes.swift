import TernCore
import TernDatabase

/// What keeps an app from writing sets of too many elements.
///
/// Several devices together can fill a set further than each may write. So what Tern writes is not
/// counted, and of what the app writes only that which makes such a set larger.
extension NoteSQL {
  /// A note without a key, there only while Tern writes. Notes that come meanwhile have rowids from
  /// 0 on. ``LargeTable/noteAgain(_:)`` counts down from the others, and past it:
  /// inside a seal, which forgets all notes before it writes to a table itself.
  private static let liftedRowID = -1

  /// Has the triggers not count what is written, until ``countAgain``.
  var liftCount: String { "INSERT INTO \(noteTable) (rowid) VALUES (\(Self.liftedRowID))" }
  var countAgain: String { "DELETE FROM \(noteTable) WHERE rowid = \(Self.liftedRowID)" }

  private var isCounted: String {
    "NOT EXISTS (SELECT 1 FROM \(noteTable) WHERE rowid = \(Self.liftedRowID))"
  }

  var sets: [TableShape.Column] { shape.columns.filter { $0.rule == .set } }

  /// An insert is looked at before it: a REPLACE fires nothing for the row that it removes.
  var sizeGuards: [(name: String, sql: String)] {
    if sets.isEmpty || isFormer { return [] }
    let canExceed = sets.map { SetText.canExceedWritten("NEW.\($0.name.quoted)") }
      .joined(separator: " OR ")
    let matches = shape.keyColumns.map { "r.\($0.quoted) = NEW.\($0.quoted)" }
      .joined(separator: " AND ")
    let replaced = sets.map { column in
      refusal(
        of: column,
        over: "(SELECT r.\(column.name.quoted) FROM \(shape.name.quoted) AS r WHERE \(matches))")
    }
    let updated = sets.map { refusal(of: $0, over: "OLD.\($0.name.quoted)") }
    return [
      trigger("size_insert", "BEFORE INSERT", when: canExceed, replaced),
      trigger(
        "size_update", "AFTER UPDATE OF \(names(sets.map(\.name)))", when: canExceed, updated),
    ]
  }

  private func refusal(of column: TableShape.Column, over old: String) -> String {
    let what =
      "set \(column.name) must not grow to more than \(ElementSet.Limit.written) elements"
    let literal = "'" + "tern: the \(what)".replacing("'", with: "''") + "'"
    let exceeds = SetText.exceedsWritten("NEW.\(column.name.quoted)", over: old)
    return "SELECT RAISE(ABORT, \(literal)) WHERE \(exceeds) AND \(isCounted)"
  }
}
