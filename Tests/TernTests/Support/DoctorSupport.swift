import Foundation
import GRDB
import Tern
import TernDatabase
import TestDevice
import Testing

/// A file with a replica of every kind of column, which a test breaks.
final class Patient {
  static let schema = SyncSchema(
    version: 3,
    tables: [
      SyncTable("shelf", deletes: .updateWins),
      SyncTable(
        "book",
        merge: [
          "scans": .counter, "best": .max, "tags": .set, "place": .order, "body": .text,
        ], local: ["photo"]),
      SyncTable("tag"),
    ])

  static let creation = """
    CREATE TABLE shelf (id TEXT NOT NULL PRIMARY KEY, name TEXT);
    CREATE TABLE book (
      id TEXT NOT NULL PRIMARY KEY, title TEXT CHECK (title <> 'forbidden'),
      scans INTEGER NOT NULL DEFAULT 0, best INTEGER, tags TEXT NOT NULL DEFAULT '[]', place TEXT,
      body TEXT NOT NULL DEFAULT '', photo TEXT, shelf TEXT REFERENCES shelf);
    CREATE TABLE tag (id TEXT NOT NULL PRIMARY KEY, name TEXT UNIQUE);
    """

  let folder: String
  var path: String { folder + "/app.sqlite" }
  let device: Device
  let peer: Device

  init() throws {
    folder =
      FileManager.default.temporaryDirectory
      .appending(path: "tern-doctor-\(ProcessInfo.processInfo.globallyUniqueString)").path
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    device = try Device(
      Self.schema, id: 1, database: DatabaseQueue(path: folder + "/app.sqlite")
    ) { try $0.execute(sql: Self.creation) }
    peer = try Device(Self.schema, id: 2) { try $0.execute(sql: Self.creation) }
  }

  deinit { try? FileManager.default.removeItem(atPath: folder) }

  /// Rows of both, written and met several times.
  func fill() throws {
    try device.execute(
      """
      INSERT INTO shelf VALUES ('s', 'hall'), ('t', 'attic');
      INSERT INTO book (id, title, scans, best, tags, place, body, shelf) VALUES
        ('1', 'Dune', 2, 5, '["a","b"]', 'V.k3XbQ0', 'Arrakis', 's'),
        ('2', 'Emma', 1, NULL, '[]', NULL, '', 't');
      INSERT INTO tag VALUES ('x', 'read')
      """)
    try meet(device, peer)
    try peer.execute(
      """
      UPDATE book SET scans = scans + 3, best = 9, tags = '["b","c"]', body = 'Arrakis, Dune'
        WHERE id = '1';
      UPDATE book SET title = 'Emma!' WHERE id = '2'; DELETE FROM tag; DELETE FROM book WHERE id = '2';
      UPDATE shelf SET name = 'roof' WHERE id = 't'
      """)
    try device.execute("UPDATE book SET title = 'Dune II', body = body || '.' WHERE id = '1'")
    try meet(device, peer)
  }

  /// Changes the file as no program of Tern's would: without triggers and foreign keys.
  func harm(_ sql: String) throws {
    try device.makeRareTables()
    try device.database.writeWithoutTransaction { db in
      try db.execute(sql: "PRAGMA foreign_keys = OFF")
      try db.inTransaction {
        try db.withoutTriggers { try db.execute(sql: sql) }
        return .commit
      }
      try db.execute(sql: "PRAGMA foreign_keys = ON")
    }
  }

  func diagnosis() throws -> DatabaseDiagnosis { try DatabaseDiagnosis(path: path) }

  /// The checks that found something.
  func findings() throws -> [String] { try diagnosis().findings.map(\.check) }
  func remarks() throws -> [String] { try diagnosis().remarks.map(\.check) }
}

/// Nothing is broken.
func expectHealthy(
  _ device: Device, _ comment: Comment? = nil, location: SourceLocation = #_sourceLocation
) throws {
  let diagnosis = try device.database.read { try DatabaseDiagnosis($0) }
  #expect(diagnosis.findings.map { "\($0)" } == [], comment, sourceLocation: location)
}
