import GRDB
import TernCore

extension RekeyPlan {
  /// A trigger that leaves the key to the table got a number so far. An identifier nobody makes for
  /// it: the app's own statement that fires the trigger would fail then.
  func checkTriggers(_ db: Database) throws {
    for trigger in try AppTriggers.all(db).values.joined().sorted(by: { $0.name < $1.name }) {
      for insert in trigger.text?.inserts ?? [] {
        guard
          let table = tables.first(where: { $0.name.folded == insert.target.folded }),
          let key = newKey(of: table), insert.leavesOut(key.name, at: key.place)
        else { continue }
        throw RekeyError(
          .keylessTrigger, table: table.name, column: key.name,
          "the trigger “\(trigger.name)” on “\(trigger.table)” inserts rows without this key, which "
            + "is an identifier from now on and no number that SQLite draws; drop the trigger before, "
            + "and create it again afterwards with a value for the key: RekeyStorage.newKeySQL makes "
            + "one")
      }
    }
  }

  /// The key that a table has afterwards in place of a number, and its place among the columns that
  /// an INSERT without names fills; `nil` for one that comes only now.
  private func newKey(of table: RekeyedTable) -> (name: String, place: Int?)? {
    if table.name == root.name, let addedKey { return (addedKey, nil) }
    guard let key = table.integerKey, isKey(table, key) else { return nil }
    let filled = table.columns.filter { !$0.isGenerated }
    return (key.name, filled.firstIndex { $0.name == key.name })
  }
}

extension RekeyStorage {
  /// SQL that makes a new random key of this form, for triggers that insert rows: plain SQL, which
  /// the `sqlite3` program understands too.
  ///
  /// ```swift
  /// try db.execute(
  ///   sql: """
  ///     CREATE TRIGGER scanned AFTER INSERT ON scan BEGIN
  ///       INSERT INTO book (id, title)
  ///       VALUES (\(RekeyStorage.uppercaseText.newKeySQL), NEW.title);
  ///     END
  ///     """)
  /// ```
  ///
  /// - Source: RFC 9562, section 5.4.
  public var newKeySQL: String {
    if kind == .blob { return "randomblob(16)" }
    let text = [
      "hex(randomblob(4))", "hex(randomblob(2))", "'4' || substr(hex(randomblob(2)), 2)",
      "substr('89AB', 1 + abs(random() % 4), 1) || substr(hex(randomblob(2)), 2)",
      "hex(randomblob(6))",
    ].joined(separator: " || '-' || ")
    return kind == .lowercase ? "lower(\(text))" : "(\(text))"
  }
}
