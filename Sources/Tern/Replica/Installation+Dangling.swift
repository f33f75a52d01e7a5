import GRDB
import TernDatabase

/// Rows of unsynced tables whose parents a merge removed: they are there before a migration, and
/// must not make it fail.
///
/// GRDB checks the whole database behind a migration, and offers no other check for one that is
/// registered. So one that fails of that alone is run once more, without foreign keys and with a
/// check of our own before it is committed: what referred to nothing before may go on doing so.
extension Installation {
  /// - Throws: what the migrator throws; `DatabaseError` for rows that lost their parent by the
  ///   migration itself.
  func run(_ migrator: DatabaseMigrator, upTo target: String) throws {
    do {
      try migrator.migrate(database, upTo: target)
    } catch let error as DatabaseError where error.isDeferredCheck {
      let left = try database.writeWithoutTransaction { try DanglingRows.leftByMerges($0) }
      if left.isEmpty { throw error }
      try restoring {
        try database.writeWithoutTransaction { db in
          try db.execute(sql: "PRAGMA foreign_keys = OFF")
          try db.beginChecking(left)
        }
        try migrator.migrate(database, upTo: target)
      }
    }
  }

  private func restoring(_ body: () throws -> Void) throws {
    let result = Result { try body() }
    try database.writeWithoutTransaction { db in
      let end = Result { try db.endChecking() }
      // Whatever failed, the app's connection goes on as it was.
      try db.execute(sql: "PRAGMA foreign_keys = ON")
      try end.get()
    }
    try result.get()
  }
}

extension DatabaseError {
  /// Whether it is what GRDB found behind a migration, and not what SQLite refused in one that it
  /// ran with foreign keys on.
  fileprivate var isDeferredCheck: Bool {
    extendedResultCode == .SQLITE_CONSTRAINT_FOREIGNKEY
      && message?.hasPrefix("FOREIGN KEY constraint violation") ?? false
  }
}

extension Database {
  private static let check = "grdb_tern_check"

  /// Has the note of a migration, GRDB's last statement in its transaction, fail where rows lack
  /// their parents that did not before.
  fileprivate func beginChecking(_ left: DanglingRows) throws {
    // SQLite calls it on this connection alone, within a statement of it.
    nonisolated(unsafe) let db = self
    add(
      function: DatabaseFunction(Self.check, argumentCount: 0) { _ in
        try DanglingRows(db).check(against: left)
        return nil
      })
    try execute(
      sql: """
        CREATE TEMP TRIGGER \(Self.check) AFTER INSERT ON main.grdb_migrations
        BEGIN SELECT \(Self.check)(); END
        """)
  }

  fileprivate func endChecking() throws {
    try execute(sql: "DROP TRIGGER IF EXISTS temp.\(Self.check)")
    remove(function: DatabaseFunction(Self.check, argumentCount: 0) { _ in nil })
  }
}

extension DanglingRows {
  /// Of unsynced tables, to synced ones.
  static func leftByMerges(_ db: Database) throws -> DanglingRows {
    var synced: Set<String> = []
    for name in try StoreTables.replicas(in: db) {
      synced.formUnion(
        try InstalledTable.all(db, StoreTables(name: name)).filter(\.isSynced).map(\.name.folded))
    }
    return try DanglingRows(db) { child, parent in
      !synced.contains(child.folded) && synced.contains(parent.folded)
    }
  }
}
