import GRDB
@_spi(Rehearsal) import TernCore
import TernDatabase

/// Makes a database a replica, or a replica of a new schema version: what ``Replica/open`` does.
struct Installation {
  let database: any DatabaseWriter
  let schema: SyncSchema
  let tables: StoreTables
  /// What an upgrade replays may lose to what is here.
  let inboxLimits: InboxLimits
  let makeID: () -> ReplicaID

  /// Runs the migrations that are due. Before each, seals what is noted and takes the triggers
  /// away, so that it meets the tables as the app declared them: those of every replica in the
  /// database, because a migration is of all of it.
  func migrate(_ migrator: DatabaseMigrator?) throws {
    guard let migrator else { return }
    var last: String?
    while let next = try lift(before: migrator), next != last {
      try CrashPoint.reach(.openAfterLift)
      // GRDB ends the process where the database is beyond that by now, by another process.
      let isNext = try database.barrierWriteWithoutTransaction {
        try self.next(of: migrator, $0) == next
      }
      guard isNext else { continue }
      try restoringTriggers { try run(migrator, upTo: next) }
      try CrashPoint.reach(.openAfterMigration)
      last = next
    }
  }

  /// - Returns: up to which migration to go; `nil`, with nothing done, where none is due.
  private func lift(before migrator: DatabaseMigrator) throws -> String? {
    guard try database.writeWithoutTransaction({ try next(of: migrator, $0) }) != nil else {
      return nil
    }
    var target: String?
    try database.writeWithoutTransaction { db in
      try db.inWaitingTransaction {
        // Another process may have done it while this one waited for the lock.
        target = try next(of: migrator, db)
        if target == nil { return .rollback }
        for installation in try [self] + others(db) { try installation.lift(db) }
        try CrashPoint.reach(.openBeforeLift)
        return .commit
      }
    }
    return target
  }

  private func lift(_ db: Database) throws {
    if try db.tableExists(tables.replica, in: "main") {
      try createTables(db)
      try sealNotes(db)
      try keepLifted(db, installedSQL(db))
    }
    try dropTriggers(db)
  }

  /// Runs a step of opening; when it fails, what was captured before goes on being captured as
  /// far as it still fits, for an app that goes on with the database.
  private func restoringTriggers<T>(_ body: () throws -> T) throws -> T {
    do {
      return try body()
    } catch {
      // What failed first is what the caller is told.
      try? database.writeWithoutTransaction { db in
        try db.inWaitingTransaction {
          for installation in try [self] + others(db) { try installation.putBack(db) }
          return .commit
        }
      }
      throw error
    }
  }

  private func next(of migrator: DatabaseMigrator, _ db: Database) throws -> String? {
    let isComplete = try migrator.hasCompletedMigrations(db)
    if migrator.eraseDatabaseOnSchemaChange {
      let isDue = try !isComplete || migrator.hasSchemaChanges(db)
      return isDue ? migrator.migrations.last : nil
    }
    guard !isComplete else { return nil }
    // GRDB goes no further back than to the last that was applied.
    let applied = try migrator.appliedMigrations(db).last
    let later = applied.flatMap { migrator.migrations.firstIndex(of: $0) }.map { $0 + 1 } ?? 0
    let isInOrder = try migrator.completedMigrations(db).count == later
    guard isInOrder, later < migrator.migrations.count else { return migrator.migrations.last }
    return migrator.migrations[later]
  }

  /// Seals what the triggers that stand have noted, and what was written while there were none.
  private func sealNotes(_ db: Database) throws {
    guard try tables.areTriggersLifted(db) || hasNotes(db) else { return }
    let known = try installedSQL(db)
    try createGoneTables(db, known, isSealed: false)
    try noteUnlifted(db, known)
    _ = try Seal.run(
      in: StoreTransaction(
        db, tables: tables, sql: known, localReferences: LocalReferences(db, known, tables)))
  }

  private func dropTriggers(_ db: Database) throws {
    for name in try db.names(of: "trigger", prefix: tables.prefix) {
      try db.execute(sql: "DROP TRIGGER main.\(name.quoted)")
    }
  }

  /// The tables that are captured now, as far as they still fit what was installed.
  func installedSQL(_ db: Database) throws -> [TableSQL] {
    try InstalledTable.all(db, tables).filter(\.isSynced).compactMap { table in
      do {
        return try table.sql(db, prefix: tables.prefix)
      } catch is SchemaError {
        // It is refused by its name where the schema is checked.
        return nil
      }
    }
  }

  /// Checks the schema against the database and puts tables and triggers in place, in one
  /// transaction.
  ///
  /// - Returns: the synced tables, and the catalogue that has them.
  func install() throws -> (sql: [TableSQL], catalogue: KnownCatalogue) {
    try restoringTriggers {
      try database.writeWithoutTransaction { db in
        try db.withoutForeignKeys {
          var installed: (sql: [TableSQL], catalogue: KnownCatalogue)?
          try db.inWaitingTransaction {
            let sql = try installInTransaction(db)
            installed = (sql, try KnownCatalogue(db, tables, sql))
            try CrashPoint.reach(.openBeforeCommit)
            return .commit
          }
          return installed!
        }
      }
    }
  }

  private func installInTransaction(_ db: Database) throws -> [TableSQL] {
    try checkNames(db)
    let isThere = try db.tableExists(tables.replica, in: "main")
    try createTables(db)
    let catalogue = Catalogue(db: db, tables: tables)
    // Notes are of the same numbers, whatever a migration renamed.
    for table in schema.tables { try catalogue.takeRenames(of: table) }
    // Writes between the migration and now are noted under the triggers that stand.
    if isThere { try sealNotes(db) }
    try createReplica(db)
    var refusals = SchemaRefusals()
    let changes = try schema.tables.compactMap { declared in
      try refusals.collect {
        try catalogue.register(TableInspection(db: db, declared: declared).shape())
      }
    }
    try refusals.finish()
    try checkReferenceTypes(db, &refusals)
    try refusals.finish()
    let ids = changes.map { "\($0.shape.id)" }.joined(separator: ", ")
    try db.execute(
      sql: "UPDATE \(tables.table) SET is_synced = 0 WHERE is_synced AND id NOT IN (\(ids))")
    let sql = changes.map { TableSQL(shape: $0.shape, prefix: tables.prefix) }
    try installTriggers(db, sql)
    for other in try others(db) where try !other.hasTriggers(db) { try other.putBack(db) }
    for (change, sql) in zip(changes, sql) {
      if isThere, Planted.isActive(.adoptionForgotten) { continue }
      if change.isNewTable { try adopt(db, sql) } else { try adopt(db, change.newTexts, of: sql) }
    }
    let transaction = try StoreTransaction(
      db, tables: tables, sql: sql, inboxLimits: inboxLimits,
      localReferences: LocalReferences(db, sql, tables))
    try transaction.failedTriggers.forget()
    let sealed = try Seal.run(in: transaction)
    // An undo must not take away what was there before: rows, or the texts of a new column.
    for sequence in sealed
    where changes.contains(where: { $0.isNewTable || !$0.newTexts.isEmpty }) {
      try transaction.undone.mark(sequence, .undone)
    }
    let checksum = try openedChecksum(db, catalogue, changes.map(\.shape))
    let isNoted = try Int64.fetchOne(db, sql: "SELECT migrated FROM \(tables.opened)") == checksum
    let isMigrated = isThere && !isNoted
    if isMigrated { try installStandingTriggers(transaction) }
    let migrated = isMigrated ? zip(changes, sql).filter { !$0.0.isNewTable }.map(\.1) : []
    try transaction.triggers.merging {
      // What waits for a newer schema is looked at where there is one, and not again and again.
      let replay = WaitingReplay(transaction)
      if isNoted { try replay.tryRefused() } else { try replay.run(migrated) }
    }
    // Opening again what is as it was writes nothing.
    if !isNoted {
      try db.execute(
        sql: "REPLACE INTO \(tables.opened) (one, migrated) VALUES (1, ?)", arguments: [checksum])
    }
    return sql
  }

  private func hasNotes(_ db: Database) throws -> Bool {
    let ids = try Int64.fetchAll(db, sql: "SELECT id FROM \(tables.table) WHERE is_synced")
    return try ids.contains { id in
      let notes = tables.notes(of: id)
      return try db.tableExists(notes, in: "main")
        && Bool.fetchOne(db, sql: "SELECT EXISTS (SELECT 1 FROM main.\(notes))")!
    }
  }

  /// Executes statements that create what is not there yet, each `CREATE … IF NOT EXISTS name …`:
  /// an earlier Tern made some of it.
  func create(_ statements: [String], _ db: Database) throws {
    let present = Set(try db.names(prefix: tables.prefix))
    for statement in statements {
      // Having SQLite read all of them takes a quarter of the time of opening again.
      let words = statement.split(separator: " ", maxSplits: 6)
      if words.count > 5, present.contains(String(words[5])) { continue }
      try db.execute(sql: statement)
    }
  }

  func installTriggers(_ db: Database, _ sql: [TableSQL]) throws {
    var wanted: [String: String] = [:]
    try createGoneTables(db, sql, isSealed: true)
    for sql in sql {
      try recreateNotesIfNeeded(db, sql.note)
      try create(sql.note.tables, db)
      for trigger in sql.note.triggers { wanted[trigger.name] = trigger.sql }
    }
    // Those come and go with the rows that they are for.
    let standing = Set(sql.map(\.note.standingTrigger.sql))
    for (name, text) in try db.triggers(prefix: tables.prefix) {
      if wanted[name] == text {
        wanted[name] = nil
      } else if !standing.contains(text) {
        try db.execute(sql: "DROP TRIGGER main.\(name.quoted)")
      }
    }
    for name in wanted.keys.sorted() { try createTrigger(wanted[name]!, db) }
  }

  /// Says where, which SQLite does not keep: a temporary table would take the trigger.
  func createTrigger(_ sql: String, _ db: Database) throws {
    try db.execute(sql: "CREATE TRIGGER main.\(sql.dropFirst("CREATE TRIGGER ".count))")
  }

  /// They follow the app's columns: before a seal they get those that they lack, and after it, when
  /// they are empty, they are made anew where anything differs.
  func createGoneTables(_ db: Database, _ sql: [TableSQL], isSealed: Bool) throws {
    for sql in sql where sql.shape.deletes.keepsContent {
      let present = try String.fetchOne(
        db, sql: "SELECT sql FROM main.sqlite_master WHERE type = 'table' AND name = ?",
        arguments: [sql.note.goneTable])
      if present == sql.note.goneCreation[0] { continue }
      if present != nil, !isSealed {
        let columns = Set(try db.columns(in: sql.note.goneTable, in: "main").map(\.name))
        for column in sql.note.goneColumns where !columns.contains(column.name) {
          try db.execute(sql: "ALTER TABLE main.\(sql.note.goneTable) ADD COLUMN \(column.name)")
        }
        continue
      }
      if present != nil { try db.execute(sql: "DROP TABLE main.\(sql.note.goneTable)") }
      for statement in sql.note.goneCreation { try db.execute(sql: statement) }
    }
  }

  /// A table that grew beyond a mask's bits needs a wider note table; the old one is sealed.
  private func recreateNotesIfNeeded(_ db: Database, _ note: NoteSQL) throws {
    guard try db.tableExists(note.noteTable, in: "main") else { return }
    if try db.columns(in: note.noteTable, in: "main").map(\.name) != note.noteColumns {
      try db.execute(sql: "DROP TABLE main.\(note.noteTable)")
    }
  }

  /// Notes the rows that hold something in a new column. Every device has what the migration put
  /// there, and editing it has to find it.
  private func adopt(_ db: Database, _ texts: [TableShape.Column], of sql: TableSQL) throws {
    let note = sql.note
    for column in texts {
      let keys = sql.shape.keyColumns.map(\.quoted)
      try db.execute(
        sql: note.noteEach(
          masks: note.masks(of: [column]), keys: keys,
          "FROM \(sql.shape.qualifiedName) WHERE \(column.name.quoted) <> ''"))
    }
  }

  /// Notes every row that was there before the table was synced.
  private func adopt(_ db: Database, _ sql: TableSQL) throws {
    for column in sql.shape.columns where column.rule == .set {
      let value = "r.\(column.name.quoted)"
      // Several devices may have filled it together, before the table stopped syncing for a while.
      let isRefused =
        "CASE WHEN \(SetText.isRefused(value)) THEN 1 "
        + "ELSE \(SetText.isLongerThanAnOperation(value)) END"
      try refuse(db, column, of: sql, where: isRefused, "a JSON array of texts and numbers")
    }
    for column in sql.shape.columns where column.rule == .counter {
      let isRefused = "typeof(r.\(column.name.quoted)) <> 'integer'"
      try refuse(db, column, of: sql, where: isRefused, "a 64-bit whole number")
    }
    let note = sql.note
    let keys = sql.shape.keyColumns.map(\.quoted)
    try db.execute(
      sql: note.noteEach(masks: note.allColumns, keys: keys, "FROM \(sql.shape.qualifiedName)"))
    // Of a table that was synced before and then not, rows went without a note.
    let gone = note.keyNames.map { "r.\($0)" }
    let match = zip(sql.shape.keyColumns, gone).map { "t.\($0.quoted) = \($1)" }
    try db.execute(
      sql: note.noteEach(
        masks: note.noColumns(), keys: gone,
        """
        FROM \(note.rowTable) AS r WHERE r.life & 1 AND NOT EXISTS (
          SELECT 1 FROM \(sql.shape.qualifiedName) AS t WHERE \(match.joined(separator: " AND ")))
        """))
    try CrashPoint.reach(.openAfterAdoption)
  }

  /// - Throws: ``SchemaError`` where a row holds something else than `expected`.
  private func refuse(
    _ db: Database, _ column: TableShape.Column, of sql: TableSQL, where condition: String,
    _ expected: String
  ) throws {
    let query = "SELECT 1 FROM \(sql.shape.qualifiedName) AS r WHERE \(condition) LIMIT 1"
    if try Row.fetchOne(db, sql: query) == nil { return }
    throw SchemaError(
      .unsupportedRule, table: sql.shape.name, column: column.name,
      "a row holds something else than \(expected); put it right in a migration first")
  }
}
