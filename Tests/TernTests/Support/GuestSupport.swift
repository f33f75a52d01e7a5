import Foundation
import GRDB
import Tern
import TestDevice
import Testing

extension Device {
  /// The same database, as an upgraded app opens it.
  func upgraded(_ schema: SyncSchema, _ steps: String...) throws -> Device {
    try Device(database, schema, id: 99, migrator: .steps(steps))
  }

  func column(_ sql: String) throws -> [String?] {
    try database.read { try String?.fetchAll($0, sql: sql) }
  }

  /// A table's synced content with types and bytes.
  func exactly(_ table: String) throws -> [[String]] {
    try database.read { db in
      let columns = try String.fetchAll(
        db, sql: "SELECT name FROM pragma_table_xinfo(?)", arguments: [table]
      ).map {
        "\"" + $0.replacing("\"", with: "\"\"") + "\""
      }
      let exact = columns.map { "typeof(\($0)) || ' ' || hex(CAST(\($0) AS BLOB)) || quote(\($0))" }
      let name = table.replacing("\"", with: "\"\"")
      let order = exact.count > 1 ? "1, 2" : "1"
      return try Row.fetchAll(
        db, sql: "SELECT \(exact.joined(separator: ", ")) FROM \"\(name)\" ORDER BY \(order)"
      ).map { row in (0..<row.count).map { row[$0] as String? ?? "nothing" } }
    }
  }

  var hasOnlyTern: Bool {
    get throws {
      try database.read { db in
        try Bool.fetchOne(
          db, sql: "SELECT count(*) > 0 FROM sqlite_master WHERE name GLOB 'grdb_tern_*'")!
      }
    }
  }
}

extension DatabaseMigrator {
  /// One migration a statement, named by its text.
  static func steps(_ steps: [String]) -> DatabaseMigrator {
    var migrator = DatabaseMigrator()
    for step in steps {
      migrator.registerMigration(step) { try $0.execute(sql: step) }
    }
    return migrator
  }
}

/// Both hold the same state and the same tables.
func expectEqual(
  _ a: Device, _ b: Device, _ tables: String..., location: SourceLocation = #_sourceLocation
) throws {
  #expect(try a.store.canonicalState() == b.store.canonicalState(), sourceLocation: location)
  for table in tables {
    #expect(try a.exactly(table) == b.exactly(table), sourceLocation: location)
  }
  for device in [a, b] {
    try expectHealthy(device, location: location)
    #expect(try device.replica.rowsOutOfSight() == [], sourceLocation: location)
  }
}

/// Runs the `sqlite3` program; returns what it prints.
func sqlite3(_ path: String, _ statements: [String]) throws -> String {
  let process = Process()
  process.executableURL = URL(fileURLWithPath: "/usr/bin/sqlite3")
  process.arguments = [path] + statements
  let pipe = Pipe()
  process.standardOutput = pipe
  try process.run()
  let output = pipe.fileHandleForReading.readDataToEndOfFile()
  process.waitUntilExit()
  #expect(process.terminationStatus == 0)
  return String(decoding: output, as: UTF8.self)
}
