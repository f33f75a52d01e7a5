import GRDB
import Synchronization
import TernCore
import TernDatabase

/// A replica's tables in the app's own database, and the transactions on them.
///
/// Every write blocks for one transaction on the database's writer, which is also what makes a
/// store safe to share.
final class StoreAccess: Sendable {
  let database: any DatabaseWriter
  let tables: StoreTables
  let sql: [TableSQL]
  /// Told after each commit.
  let changes = ChangeRelay()
  private let inboxLimits: InboxLimits
  private let knownTriggers = KnownTriggers()
  /// Of the connection that writes, and used on its queue alone: not in a transaction that the app
  /// hands over, which can be another connection's.
  private nonisolated(unsafe) let statements: StatementMemory
  /// Used where `statements` is.
  private nonisolated(unsafe) let others: OtherWriters
  /// Whether any table has a foreign key, and SQLite's number of the schema of which that is known.
  private let foreignKeys: Mutex<(schemaVersion: Int64, isAny: Bool)>
  /// The same of unsynced tables that refer to synced ones.
  private let localReferences: Mutex<(schemaVersion: Int64, references: LocalReferences)>
  /// The checksum of the catalogue that `sql` was made by.
  private let catalogue: UInt32
  /// SQLite's number of the schema under which the catalogue was last found to be that one.
  private let checkedVersion: Mutex<Int64>

  /// - Parameter catalogue: the one that `sql` was made by.
  init(
    _ database: any DatabaseWriter, _ tables: StoreTables, _ sql: [TableSQL],
    catalogue: KnownCatalogue, inboxLimits: InboxLimits
  ) {
    (self.database, self.tables, self.sql) = (database, tables, sql)
    self.inboxLimits = inboxLimits
    statements = StatementMemory()
    others = OtherWriters(statements, opened: catalogue.dataVersion)
    self.catalogue = catalogue.checksum
    checkedVersion = Mutex(catalogue.schemaVersion)
    foreignKeys = Mutex((catalogue.schemaVersion, catalogue.hasForeignKeys))
    localReferences = Mutex((catalogue.schemaVersion, catalogue.localReferences))
  }

  /// One transaction with the write lock from its beginning.
  func write<T>(
    withoutForeignKeys: Bool = false, _ body: (StoreTransaction) throws -> T
  ) throws -> T {
    try telling { recorder in
      try database.writeWithoutTransaction { db in
        func run() throws -> T {
          others.begin()
          let output = try db.inOwnTransaction(statements) {
            try checkCatalogueOnce(db)
            return try body(
              StoreTransaction(
                db, tables: tables, sql: sql, recorder: recorder, inboxLimits: inboxLimits,
                knownTriggers: knownTriggers, statements: statements, others: others,
                localReferences: localReferences(db)))
          }
          others.commit()
          return output
        }
        return try withoutForeignKeys && hasForeignKeys(db) ? db.withoutForeignKeys(run) : run()
      }
    }
  }

  /// One in which the app writes before what the replica is about to do with it is read.
  func writing<T>(
    _ body: (Database, _ asItStands: () throws -> StoreTransaction) throws -> T
  ) throws -> T {
    try telling { recorder in
      try database.writeWithoutTransaction { db in
        var output: T?
        others.begin()
        try db.inWaitingTransaction {
          try checkCatalogueOnce(db)
          output = try body(db) {
            // What the app wrote may have made a table that reads as empty under the ones here.
            let isChanged = try schemaVersion(db, statements) != checkedVersion.withLock { $0 }
            return try transaction(of: db, recorder, isChanged ? nil : statements, others)
          }
          return .commit
        }
        others.commit()
        return output!
      }
    }
  }

  /// Tells whoever listens of what changed, behind the commit.
  private func telling<T>(_ write: (ChangeRecorder?) throws -> T) throws -> T {
    let recorder = changes.isHeard ? ChangeRecorder() : nil
    let output = try write(recorder)
    if let recorder { try changes.tell(recorder.changes(in: sql)) }
    return output
  }

  /// The replica as it stands now in an open transaction.
  func transaction(
    of db: Database, _ recorder: ChangeRecorder?, _ statements: StatementMemory? = nil,
    _ others: OtherWriters? = nil
  ) throws -> StoreTransaction {
    try StoreTransaction(
      db, tables: tables, sql: sql, recorder: recorder, inboxLimits: inboxLimits,
      statements: statements, others: others, localReferences: localReferences(db))
  }

  /// As of the schema that was last found to be the catalogue's.
  func localReferences(_ db: Database) throws -> LocalReferences {
    let version = checkedVersion.withLock { $0 }
    let known = localReferences.withLock { $0.schemaVersion == version ? $0.references : nil }
    if let known { return known }
    let references = try LocalReferences(db, sql, tables)
    localReferences.withLock { $0 = (version, references) }
    return references
  }

  /// The same in a transaction of the app's, which decides whether it is kept.
  func join<T>(_ db: Database, _ body: (StoreTransaction) throws -> T) throws -> T {
    let recorder = changes.isHeard ? ChangeRecorder() : nil
    // Not noted as checked: what the app did to the schema may be rolled back.
    _ = try checkCatalogue(db)
    let result = try body(transaction(of: db, recorder))
    if let recorder {
      let changed = try recorder.changes(in: sql)
      db.afterNextTransaction { [changes] _ in changes.tell(changed) }
    }
    return result
  }

  /// Switching them off makes SQLite prepare every statement again, so databases that have none
  /// are told apart.
  private func hasForeignKeys(_ db: Database) throws -> Bool {
    let schemaVersion = try schemaVersion(db)
    let known = foreignKeys.withLock { $0.schemaVersion == schemaVersion ? $0.isAny : nil }
    if let known { return known }
    let isAny = try db.hasForeignKeys()
    foreignKeys.withLock { $0 = (schemaVersion, isAny) }
    return isAny
  }

  /// SQLite's number of the schema, which grows with every change of it.
  private func schemaVersion(_ db: Database, _ statements: StatementMemory? = nil) throws -> Int64 {
    let text = "PRAGMA main.schema_version"
    let version = try statements?.statement(db, text) ?? FastStatement(db, text)
    defer { version.reset() }
    _ = try version.step()
    return version.int64(0)
  }

  /// In a transaction of the store's own.
  private func checkCatalogueOnce(_ db: Database) throws {
    let version = try checkCatalogue(db, statements)
    if checkedVersion.withLock({ $0 == version }) { return }
    statements.forgetAll()
    checkedVersion.withLock { $0 = version }
  }

  /// An opening with another schema changes the catalogue, and triggers with it. Under the older
  /// one a seal would drop the notes of columns that it does not know.
  ///
  /// - Returns: SQLite's number of the schema.
  private func checkCatalogue(_ db: Database, _ statements: StatementMemory? = nil) throws -> Int64
  {
    let version = try schemaVersion(db, statements)
    if checkedVersion.withLock({ $0 == version }) { return version }
    do {
      if try tables.areTriggersLifted(db) {
        throw ReplicaError(
          .schemaChanged,
          "the app's migrations run, or a process died in one, so that nothing would be captured; "
            + "nothing is lost: open the replica again with the newest schema")
      }
      guard try Catalogue(db: db, tables: tables).checksum() != catalogue else { return version }
    } catch let error as DatabaseError where error.resultCode == .SQLITE_ERROR {
      throw try tables.reason(for: error, in: db)
    }
    throw ReplicaError(
      .schemaChanged,
      "the replica was opened with another schema since, by another process or this one; nothing is "
        + "lost: open it again with the newest schema")
  }

  func read<T>(_ body: (StoreTransaction) throws -> T) throws -> T {
    try database.readSnapshot { db in
      try body(StoreTransaction(db, tables: tables, sql: sql))
    }
  }

  /// One statement alone, which sees one moment: without what a transaction reads first.
  func ask<T>(_ sql: String, _ body: (FastStatement) throws -> T) throws -> T {
    try database.unsafeRead { db in
      do {
        return try body(FastStatement(db, sql))
      } catch let error as DatabaseError where error.resultCode == .SQLITE_ERROR {
        throw try tables.reason(for: error, in: db)
      }
    }
  }

  /// The authors with a column of theirs.
  func heads(_ column: String) throws -> VersionVector {
    try ask("SELECT id, \(column) FROM \(tables.author)") { statement in
      var heads = VersionVector()
      try statement.each { heads[try tables.author(in: statement)] = statement.raw(1) }
      return heads
    }
  }

  /// The app's triggers that don't run in merges.
  func skippedTriggers(_ transaction: StoreTransaction) throws -> [SkippedTrigger] {
    try knownTriggers.skipped(transaction.db) { try transaction.triggers.all() }
  }
}
