import GRDB
import Tern
import TestDevice

/// A person is deleted on one device while another gives an item to them.
enum VeiledItems {
  static let creation = """
    CREATE TABLE person (id TEXT NOT NULL PRIMARY KEY, name TEXT);
    CREATE TABLE item (
      id TEXT NOT NULL PRIMARY KEY, title TEXT, rank TEXT DEFAULT 'low',
      person TEXT REFERENCES person ON DELETE SET NULL);
    CREATE TABLE note (id TEXT NOT NULL PRIMARY KEY, item TEXT REFERENCES item ON DELETE CASCADE);
    """

  static func schema(_ deletes: DeleteRule = .deleteWins, version: UInt32 = 1) -> SyncSchema {
    SyncSchema(
      version: version,
      tables: ["person", "item", "note"].map { SyncTable($0, deletes: deletes) })
  }

  /// Both have the person; nobody has met since.
  static func pair(
    _ deletes: DeleteRule = .deleteWins, in writer: any DatabaseWriter = try! DatabaseQueue()
  ) throws -> (Device, Device) {
    let a = try Device(writer, schema(deletes), id: 1, migrator: .steps([creation]))
    let b = try Device(DatabaseQueue(), schema(deletes), id: 2, migrator: .steps([creation]))
    try a.commit("INSERT INTO person VALUES ('ann', 'Ann'), ('ben', 'Ben')")
    try meetTwice(a, b)
    return (a, b)
  }

  /// On both the item is shown without its person.
  static func met(
    _ deletes: DeleteRule = .deleteWins, in writer: any DatabaseWriter = try! DatabaseQueue()
  ) throws -> (Device, Device) {
    let (a, b) = try pair(deletes, in: writer)
    try a.commit(
      """
      INSERT INTO item VALUES ('milk', 'Milk', 'high', 'ben'); INSERT INTO note VALUES ('n', 'milk')
      """)
    try b.commit("DELETE FROM person WHERE id = 'ben'")
    try meetTwice(a, b)
    return (a, b)
  }

  static let comeBack = "INSERT INTO person VALUES ('ben', 'Ben again')"
}

extension Device {
  /// Each item with its title and its person.
  var itemLines: [String?] {
    get throws {
      try column("SELECT id || ' ' || title || ' ' || ifnull(person, '-') FROM item ORDER BY id")
    }
  }
}
