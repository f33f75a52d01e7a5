import GRDB
import Tern
import TestDevice
import Testing

/// A snapshot in memory.
final class Parts {
  var parts: [[UInt8]] = []
  private(set) var summary: SnapshotSummary?

  init() {}

  init(of device: Device) throws {
    summary = try device.store.cutSnapshot { parts.append($0) }
  }

  func part(_ index: Int) -> [UInt8]? {
    index < parts.count ? parts[index] : nil
  }
}

extension Device {
  @discardableResult
  func load(_ parts: Parts, from place: RemotePlace? = nil) throws -> SnapshotSummary {
    try store.loadSnapshot(from: place) { parts.part($0) }
  }
}

/// Tables of every rule, with a parent, and a column that stays on its device.
enum Shelf {
  static let creation = """
    CREATE TABLE shelf (id TEXT NOT NULL PRIMARY KEY, name TEXT);
    CREATE TABLE book (
      id TEXT NOT NULL PRIMARY KEY, title TEXT DEFAULT 'none', scans INTEGER NOT NULL DEFAULT 0,
      best REAL, tags TEXT NOT NULL DEFAULT '[]', shelf TEXT REFERENCES shelf, photo TEXT);
    CREATE TABLE note (a TEXT NOT NULL, b INTEGER NOT NULL, body, PRIMARY KEY (a, b)) WITHOUT ROWID;
    """

  static func schema(_ deletes: DeleteRule) -> SyncSchema {
    SyncSchema(
      version: 1,
      tables: [
        SyncTable("shelf"),
        SyncTable(
          "book", merge: ["scans": .counter, "best": .max, "tags": .set], deletes: deletes,
          local: ["photo"]),
        SyncTable("note", deletes: deletes),
      ])
  }

  static func device(_ id: UInt64, _ deletes: DeleteRule = .deleteWins) throws -> Device {
    try Device(schema(deletes), id: id) { try $0.execute(sql: creation) }
  }

  /// One write that an app might do.
  static func write(_ device: Device, using generator: inout some RandomNumberGenerator) throws {
    let id = "\(Int.random(in: 0..<5, using: &generator))"
    let value = Int.random(in: 0..<100, using: &generator)
    let sql =
      switch Int.random(in: 0..<9, using: &generator) {
      case 0: "INSERT OR IGNORE INTO shelf VALUES ('\(id)', '\(value)')"
      case 1: "DELETE FROM shelf WHERE id = '\(id)'"
      case 2: "INSERT OR REPLACE INTO book (id, title, scans) VALUES ('\(id)', '\(value)', 1)"
      case 3: "UPDATE book SET scans = scans + 1, best = \(value) WHERE id = '\(id)'"
      case 4: "UPDATE book SET tags = json_insert(tags, '$[#]', '\(value)') WHERE id = '\(id)'"
      case 5: "UPDATE book SET shelf = (SELECT id FROM shelf LIMIT 1) WHERE id = '\(id)'"
      case 6: "DELETE FROM book WHERE id = '\(id)'"
      case 7: "INSERT OR REPLACE INTO note VALUES ('\(id)', \(value % 3), '\(value)')"
      default: "DELETE FROM note WHERE b = \(value % 3)"
      }
    do {
      try device.execute(sql)
    } catch DatabaseError.SQLITE_CONSTRAINT_FOREIGNKEY {
      // A shelf that is not empty stays.
    }
    if Bool.random(using: &generator) { try device.store.seal() }
  }
}
