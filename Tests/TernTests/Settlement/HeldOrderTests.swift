import Foundation
import GRDB
import Tern
import TestDevice
import Testing

/// A row whose parent is gone takes part in UNIQUE like any other, whenever it came.
@Suite("Settlement: UNIQUE among rows without their parent", .timeLimit(.minutes(1)))
struct HeldOrderTests {
  private static let references = [
    "shelf REFERENCES shelf", "shelf TEXT REFERENCES shelf",
    "shelf TEXT REFERENCES shelf (code)",
  ]

  /// Commits something later than all that others committed.
  private func later(_ device: Device, _ sql: String) throws {
    // real time: SQLite's clock stamps, and may round to the millisecond before or after this one.
    let now = Date()
    while Date().timeIntervalSince(now) < 0.002 {}
    try device.commit(sql)
  }

  @Test(arguments: references, [true, false])
  func `INV-01: the order of arrival decides nothing`(_ reference: String, _ hasCopies: Bool) throws
  {
    let tables = ["shelf", "book", "copy"]
    let schema = SyncSchema(version: 1, tables: tables.map { SyncTable($0) })
    let creation = """
      CREATE TABLE shelf (id TEXT NOT NULL PRIMARY KEY, code TEXT UNIQUE);
      CREATE TABLE book (id TEXT NOT NULL PRIMARY KEY, \(reference), isbn TEXT UNIQUE);
      CREATE TABLE copy (
        id TEXT NOT NULL PRIMARY KEY, book TEXT REFERENCES book, tag TEXT UNIQUE);
      """
    let devices = try (1...9).map { id in
      try Device(schema, id: UInt64(id)) { try $0.execute(sql: creation) }
    }
    let (a, b, c) = (devices[0], devices[1], devices[2])
    try a.commit("INSERT INTO shelf VALUES ('g', 'g')")
    for device in devices.dropFirst() { try device.pull(from: a) }
    try later(c, "INSERT INTO book VALUES ('s', NULL, 'X')")
    try later(b, "INSERT INTO book VALUES ('r', 'g', 'X')")
    if hasCopies {
      try later(b, "INSERT INTO copy VALUES ('c', 'r', 'T')")
      try later(c, "INSERT INTO copy VALUES ('t', NULL, 'T')")
    }
    try later(a, "DELETE FROM shelf")
    let orders = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]]
    for (device, order) in zip(devices.dropFirst(3), orders) {
      for author in order { try device.pull(from: devices[author]) }
    }
    for (reader, author) in [(a, b), (a, c), (b, a), (b, c), (c, a), (c, b)] {
      try reader.pull(from: author)
    }
    // And by what each settles once more.
    for device in devices { try device.commit("INSERT INTO shelf VALUES ('\(UUID())', NULL)") }
    #expect(try !a.rows("SELECT * FROM book").isEmpty)
    for device in devices.dropFirst() {
      #expect(try device.rows("SELECT * FROM book ORDER BY 1") == a.rows("SELECT * FROM book"))
      #expect(try device.rows("SELECT * FROM copy ORDER BY 1") == a.rows("SELECT * FROM copy"))
    }
  }
}
