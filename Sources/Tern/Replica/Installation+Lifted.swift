import Foundation
import GRDB
@_spi(Rehearsal) import TernCore
import TernDatabase

/// What is written while the triggers are lifted, where the process dies before they are back: a
/// migration under way is then rolled back, and nobody noted what others wrote afterwards.
///
/// So what the rows were is kept before each migration, and whoever puts the triggers back notes
/// what differs. What a migration that is complete has written differs too, and is not noted: it is
/// of every device.
extension Installation {
  /// Keeps what the rows are, in place of what was kept before.
  func keepLifted(_ db: Database, _ sql: [TableSQL]) throws {
    try dropLifted(db)
    try db.withDigests {
      for sql in sql {
        for statement in sql.note.lift { try db.execute(sql: statement) }
      }
    }
    try db.execute(sql: "CREATE TABLE main.\(tables.lifted) (migrated INTEGER NOT NULL)")
    try db.execute(
      sql: "INSERT INTO main.\(tables.lifted) VALUES (?)", arguments: [migrationChecksum(db)])
  }

  /// Notes what was written since the triggers were lifted, unless a migration was completed since.
  func noteUnlifted(_ db: Database, _ sql: [TableSQL]) throws {
    guard try tables.areTriggersLifted(db) else { return }
    let kept = try Int64.fetchOne(db, sql: "SELECT migrated FROM main.\(tables.lifted)")
    if try kept == migrationChecksum(db) {
      try db.withDigests {
        for sql in sql where try db.hasTable(sql.note.liftedTable) {
          for statement in sql.note.noteUnlifted { try db.execute(sql: statement) }
        }
      }
      try CrashPoint.reach(.openAfterRecovery)
    }
    try dropLifted(db)
  }

  private func dropLifted(_ db: Database) throws {
    for name in try db.names(of: "table", prefix: tables.lifted) {
      try db.execute(sql: "DROP TABLE main.\(name.quoted)")
    }
  }
}

extension Database {
  /// With ``NoteSQL/digest`` there.
  fileprivate func withDigests(_ body: () throws -> Void) rethrows {
    let digest = DatabaseFunction(NoteSQL.digest, argumentCount: 1, pure: true) { values in
      let bytes = Data.fromDatabaseValue(values[0]) ?? Data()
      return Int64(bitPattern: bytes.withUnsafeBytes { KeyHash.of($0) })
    }
    add(function: digest)
    defer { remove(function: digest) }
    try body()
  }
}
