import Foundation
import GRDB
import Synchronization

/// Tells databases in memory apart, two copies of one file too, whose queues have one id.
enum MemoryPlace {
  private static let count = Atomic<UInt64>(0)

  /// What no other database in memory of this process is called, nor of another that lives. It is
  /// known to the one connection that such a database has, and no copy takes it along.
  static func name(in db: Database) throws -> String {
    try db.execute(sql: "CREATE TEMP TABLE IF NOT EXISTS grdb_tern_jobplace (name TEXT NOT NULL)")
    if let name = try String.fetchOne(db, sql: "SELECT name FROM temp.grdb_tern_jobplace") {
      return name
    }
    let name = "\(getpid())-\(count.wrappingAdd(1, ordering: .relaxed).newValue)"
    try db.execute(sql: "INSERT INTO temp.grdb_tern_jobplace VALUES (?)", arguments: [name])
    return name
  }
}
