import GRDB
import Tern
import TestDevice

/// Two phones that both made the tag `meals`: it is one tag.
enum Fold {
  static let table = """
    CREATE TABLE tag (id TEXT NOT NULL PRIMARY KEY, name TEXT COLLATE NOCASE, color, sameAs TEXT);
    """
  static let index = "CREATE UNIQUE INDEX tag_name ON tag (name) WHERE sameAs IS NULL;"
  static let plainIndex = "CREATE UNIQUE INDEX tag_name ON tag (name);"
  static let uses = """
    CREATE TABLE use (id TEXT NOT NULL PRIMARY KEY, tag TEXT REFERENCES tag ON DELETE CASCADE);
    """

  static func schema(_ version: UInt32 = 1, isFolding: Bool = true) -> SyncSchema {
    SyncSchema(
      version: version,
      tables: [
        SyncTable("tag", collisions: isFolding ? .fold(into: "sameAs") : .quarantine),
        SyncTable("use"),
      ])
  }

  static func device(_ id: UInt64, _ database: (any DatabaseWriter)? = nil) throws -> Device {
    try Device(
      database ?? DatabaseQueue(), schema(), id: id, migrator: .steps([table + index + uses]))
  }

  /// The tag of the first counts, and that of the second points to it.
  static func devices(_ database: (any DatabaseWriter)? = nil) throws -> (Device, Device) {
    let devices = (try device(1, database), try device(2))
    try fill(devices.0, devices.1)
    return devices
  }

  static func fill(_ a: Device, _ b: Device) throws {
    try a.commit("INSERT INTO tag (id, name, color) VALUES ('1', 'meals', 'red')")
    try delay(b, after: a)
    try b.commit(
      "INSERT INTO tag (id, name, color) VALUES ('2', 'Meals', 'blue'); "
        + "INSERT INTO use VALUES ('u', '2')")
    try meetTwice(a, b)
  }
}

extension Device {
  /// Each tag's key, name and what it points to.
  var tagLines: [String] {
    get throws {
      try column("SELECT id || ' ' || name || ' ' || ifnull(sameAs, '-') FROM tag ORDER BY id")
        .map { $0 ?? "" }
    }
  }
}
