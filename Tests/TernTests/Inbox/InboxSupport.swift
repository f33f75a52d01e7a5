import GRDB
import Tern
import TestDevice

/// A household's tags and recipes: what two phones fill before they meet.
enum Household {
  static let creation = """
    CREATE TABLE tag (id TEXT NOT NULL PRIMARY KEY, name TEXT UNIQUE COLLATE NOCASE, note TEXT, seen);
    CREATE TABLE recipe (
      id TEXT NOT NULL PRIMARY KEY, tag TEXT REFERENCES tag ON DELETE CASCADE, title TEXT,
      cooked INTEGER NOT NULL DEFAULT 0, sets TEXT NOT NULL DEFAULT '[]', body TEXT NOT NULL DEFAULT '');
    CREATE TABLE step (
      id TEXT NOT NULL PRIMARY KEY, recipe TEXT REFERENCES recipe ON DELETE CASCADE, text);
    """

  static func schema(_ deletes: DeleteRule = .deleteWins, version: UInt32 = 1) -> SyncSchema {
    SyncSchema(
      version: version,
      tables: [
        SyncTable("tag", deletes: deletes, local: ["seen"]),
        SyncTable(
          "recipe", merge: ["cooked": .counter, "sets": .set, "body": .text], deletes: deletes),
        SyncTable("step", deletes: deletes),
      ])
  }

  static func device(
    _ id: UInt64, _ deletes: DeleteRule = .deleteWins, database: (any DatabaseWriter)? = nil,
    onDelete: String = "CASCADE"
  ) throws -> Device {
    try Device(schema(deletes), id: id, database: database) {
      try $0.execute(
        sql: creation.replacing(
          "REFERENCES tag ON DELETE CASCADE", with: "REFERENCES tag ON DELETE \(onDelete)"))
    }
  }

  /// Both made the tag `meals`; the second one's lost its place, and its recipe waits for it.
  static func displaced(
    _ deletes: DeleteRule = .deleteWins, onDelete: String = "CASCADE",
    database: (any DatabaseWriter)? = nil
  ) throws -> (Device, Device) {
    let a = try device(1, deletes, database: database, onDelete: onDelete)
    let b = try device(2, deletes, onDelete: onDelete)
    try a.commit("INSERT INTO tag VALUES ('1', 'meals', 'first', 'a')")
    try delay(b, after: a)
    try b.commit(
      """
      INSERT INTO tag VALUES ('2', 'Meals', 'second', 'b');
      INSERT INTO recipe VALUES ('r', '2', 'Soup', 3, '["hot"]', 'Boil');
      INSERT INTO step VALUES ('s', 'r', 'wait')
      """)
    try meetTwice(a, b)
    return (a, b)
  }
}

func meetTwice(_ a: Device, _ b: Device) throws {
  try meet(a, b)
  try meet(a, b)
}

extension Device {
  /// Of the inbox, read as an observation does.
  var inbox: [InboxEntry] {
    get throws { try database.read { try replica.inbox(in: $0) } }
  }

  func entry(_ kind: InboxKind) throws -> InboxEntry? { try inbox.first { $0.kind == kind } }

  /// In words, without who and when.
  var listedEntries: [String] {
    get throws { try inbox.map { "\($0.kind) \($0.table) \($0.key)" } }
  }

  /// In a transaction of its own, whose seal shows what waited.
  func show(
    _ entry: InboxEntry,
    with values: KeyValuePairs<any ColumnExpression, (any DatabaseValueConvertible)?> = [:]
  ) throws {
    try store.write { try replica.show(entry, with: values, in: $0) }
  }

  func discard(_ entry: InboxEntry) throws {
    try store.write { try replica.discard(entry, in: $0) }
  }
}
