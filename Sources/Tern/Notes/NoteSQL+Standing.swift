import TernCore

/// What notes a row that a migration brought when another one is inserted under its key.
///
/// SQLite fires no delete trigger for the row that a REPLACE removes, unless `recursive_triggers`
/// is on, and no state knows that row: what replaces it would look like a row that began.
extension NoteSQL {
  /// There only while the table may have such rows, because it costs every insert a search.
  var standingTrigger: (name: String, sql: String) {
    let keys = shape.keyColumns.map { "r.\($0.quoted)" }
    let match = zip(keys, shape.keyColumns).map { "\($0) = NEW.\($1.quoted)" }
    let note = noteEach(
      masks: noColumns(.standing), keys: keys,
      "FROM \(shape.name.quoted) AS r WHERE \((match + [isUnknown]).joined(separator: " AND "))")
    return trigger("standing", "BEFORE INSERT", [note])
  }

  /// The condition that no state has row `r` as one that is alive. Where deletes keep the row SQL
  /// cannot tell, and the trigger notes all.
  private var isUnknown: String { shape.deletes.keepsContent ? "1" : isStateless }

  var isStateless: String {
    "NOT EXISTS (SELECT 1 FROM \(rowTable) AS s WHERE \(isStateOfRow) AND s.life & 1)"
  }

  /// The condition that state `s` is row `r`'s. The sign keeps the affinity of the app's column off
  /// the state's key, whose index could not be searched with one.
  var isStateOfRow: String {
    zip(keyNames, shape.keyColumns).map { "s.\($0) = +r.\($1.quoted)" }
      .joined(separator: " AND ")
  }
}
