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
      try db.endChecking()
      try db.execute(sql: "PRAGMA foreign_keys = ON")
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
        try DanglingRows.all(db).check(against: left)
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

/// How many rows refer to parents that are not there, by what they hold of these: a migration can
/// give tables and columns other names, and rows other numbers.
private struct DanglingRows {
  private var counts: [[String]: Int] = [:]
  /// For each, a foreign key by which they do, for people.
  private var names: [[String]: String] = [:]

  var isEmpty: Bool { counts.isEmpty }

  static func all(_ db: Database) throws -> DanglingRows {
    try DanglingRows(db) { _, _ in true }
  }

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

  private init(_ db: Database, where isMeant: (_ child: String, _ parent: String) -> Bool) throws {
    // As SQLite finds them, and then by name.
    let broken = try Row.fetchAll(
      db, sql: "SELECT DISTINCT \"table\", parent, fkid FROM pragma_foreign_key_check")
    for row in broken {
      let (child, parent): (String, String) = (row[0], row[1])
      guard isMeant(child, parent),
        let key = try DeclaredForeignKey.all(of: child, db).first(where: { $0.id == row["fkid"] })
      else { continue }
      let columns = key.columns.map { name in
        let value = "c.\(name.quoted)"
        return
          "iif(typeof(\(value)) = 'blob', hex(\(value)), CAST(\(value) AS TEXT))"
      }
      let rows = try Row.fetchCursor(
        db,
        sql: "SELECT \(columns.joined(separator: ", ")) FROM main.\(child.quoted) AS c "
          + "WHERE \(key.lacksParent(db))")
      while let row = try rows.next() {
        let values = Array(row.databaseValues.map { String.fromDatabaseValue($0) ?? "" })
        counts[values, default: 0] += 1
        names[values] = "\(child)(\(key.columns.joined(separator: ", "))) to \(parent)"
      }
    }
  }

  /// - Throws: `DatabaseError` where some are more than there were.
  func check(against left: DanglingRows) throws {
    guard let new = counts.first(where: { $1 > left.counts[$0] ?? 0 }) else { return }
    throw DatabaseError(
      resultCode: .SQLITE_CONSTRAINT_FOREIGNKEY,
      message: "FOREIGN KEY constraint violation - from \(names[new.key] ?? ""), in a row that had "
        + "its parent before the migration")
  }
}

extension DeclaredForeignKey {
  /// The condition that row `c` refers to a parent which is not there.
  fileprivate func lacksParent(_ db: Database) throws -> String {
    let present = columns.map { "c.\($0.quoted) IS NOT NULL" }.joined(separator: " AND ")
    guard let parentColumns = try parentColumns(db) else { return present }
    // The parent's type alone converts.
    let match = zip(parentColumns, columns).map { "p.\($0.quoted) = +c.\($1.quoted)" }
    return "\(present) AND NOT EXISTS (SELECT 1 FROM main.\(parent.quoted) AS p "
      + "WHERE \(match.joined(separator: " AND ")))"
  }
}
