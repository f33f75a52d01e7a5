import GRDB
import TestDevice

@testable import Tern

extension Device {
  /// For SQL of a test's own that names them.
  func makeRareTables() throws {
    try database.write { db in
      for table in store.tables.rare.all where try !db.tableExists(table.name) {
        for statement in table.creation { try db.execute(sql: statement) }
      }
    }
  }

  /// SQL of how many changes of the schema made them.
  var rareChanges: String {
    let names = store.tables.rare.all.map { "'\($0.name)'" }.joined(separator: ", ")
    return "SELECT count(*) FROM main.sqlite_master WHERE tbl_name IN (\(names))"
  }

  /// Those that were made, by what follows the replica's prefix.
  func rareTables() throws -> [String] {
    try database.read { db in
      let prefix = store.tables.prefix
      let names = Set(try db.names(of: "table", prefix: prefix))
      return store.tables.rare.all.map(\.name).filter(names.contains)
        .map { String($0.dropFirst(prefix.count)) }
    }
  }
}
