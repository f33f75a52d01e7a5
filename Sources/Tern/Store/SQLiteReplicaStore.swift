import GRDB
import Synchronization
@_spi(Rehearsal) import TernCore
import TernDatabase

/// A replica's durable state inside the app's own database, where the app's tables are.
///
/// Every method blocks for one transaction on the database's writer, which is also what makes the
/// store safe to share.
package final class SQLiteReplicaStore: ReplicaStore {
  /// The app's database.
  package let database: any DatabaseWriter
  let tables: StoreTables
  let sql: [TableSQL]
  /// How long operations stay in the log that every remote holds.
  let retention: Duration
  /// Told after each commit.
  let changes = ChangeRelay()
  /// Where a new id comes from.
  let random: @Sendable () -> UInt64
  private let inboxLimits: InboxLimits
  private let knownTriggers = KnownTriggers()
  /// Of the connection that writes, and used on its queue alone: not in a transaction that the app
  /// hands over, which can be another connection's.
  private nonisolated(unsafe) let statements = StatementMemory()
  /// Yields whether something is noted, was put aside until now, or is to be settled.
  private let news: String
  /// Yields notes, operations, rows held aside, deferred operations and groups put aside.
  private let rowCounts: String
  /// Whether any table has a foreign key, and SQLite's number of the schema of which that is known.
  private let foreignKeys: Mutex<(schemaVersion: Int64, isAny: Bool)>
  /// The checksum of the catalogue that `sql` was made by.
  private let catalogue: UInt32
  /// SQLite's number of the schema under which the catalogue was last found to be that one.
  private let checkedVersion: Mutex<Int64>

  /// - Parameter catalogue: the one that `sql` was made by.
  init(
    database: any DatabaseWriter, tables: StoreTables, sql: [TableSQL], catalogue: KnownCatalogue,
    retention: Duration, inboxLimits: InboxLimits, random: @escaping @Sendable () -> UInt64
  ) {
    self.catalogue = catalogue.checksum
    checkedVersion = Mutex(catalogue.schemaVersion)
    foreignKeys = Mutex((catalogue.schemaVersion, catalogue.hasForeignKeys))
    self.inboxLimits = inboxLimits
    self.random = random
    let noted = sql.map { "EXISTS (SELECT 1 FROM \($0.note.noteTable))" }
    let due = """
      EXISTS (
        SELECT 1 FROM \(tables.waiting) WHERE due_ms IS NOT NULL
        AND due_ms <= \(NoteSQL.milliseconds) + (SELECT correction_ms FROM \(tables.replica)))
      """
    let unsettled = "EXISTS (\(tables.statements.isUnsettled))"
    news = "SELECT \((noted + [due, unsettled]).joined(separator: " OR "))"
    let notes = sql.map { "(SELECT count(*) FROM \($0.note.noteTable))" }
    // The log holds every operation of an author behind the trimmed ones.
    rowCounts = """
      SELECT \((["0"] + notes).joined(separator: " + ")), (SELECT sum(stored - trimmed) FROM \(tables.author)),
        (SELECT count(*) FROM \(tables.held))
      """
    self.database = database
    self.tables = tables
    self.sql = sql
    self.retention = retention
  }

  /// One transaction with the write lock from its beginning.
  func transaction<T>(
    withoutForeignKeys: Bool = false, _ body: (StoreTransaction) throws -> T
  ) throws -> T {
    try telling { recorder in
      try database.writeWithoutTransaction { db in
        func run() throws -> T {
          try db.inOwnTransaction(statements) {
            try checkCatalogueOnce(db)
            return try body(
              StoreTransaction(
                db, tables: tables, sql: sql, recorder: recorder, inboxLimits: inboxLimits,
                knownTriggers: knownTriggers, statements: statements))
          }
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
        try db.inWaitingTransaction {
          try checkCatalogueOnce(db)
          output = try body(db) { try transaction(of: db, recorder, statements) }
          return .commit
        }
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
    of db: Database, _ recorder: ChangeRecorder?, _ statements: StatementMemory? = nil
  ) throws -> StoreTransaction {
    try StoreTransaction(
      db, tables: tables, sql: sql, recorder: recorder, inboxLimits: inboxLimits,
      statements: statements)
  }

  /// The same in a transaction of the app's, which decides whether it is kept.
  func transaction<T>(in db: Database, _ body: (StoreTransaction) throws -> T) throws -> T {
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
  private func ask<T>(_ sql: String, _ body: (FastStatement) throws -> T) throws -> T {
    try database.unsafeRead { db in
      do {
        return try body(FastStatement(db, sql))
      } catch let error as DatabaseError where error.resultCode == .SQLITE_ERROR {
        throw try tables.reason(for: error, in: db)
      }
    }
  }

  package func replicaID() throws -> ReplicaID {
    try ownHead().id
  }

  @discardableResult
  package func seal() throws -> Range<UInt64> {
    let sealed = try transaction { transaction in
      let range = try Seal.run(in: transaction)
      return (range, needsMerge: try transaction.held.isUnsettled() || transaction.hasDueGroups())
    }
    try CrashPoint.reach(.sealAfterCommit)
    if sealed.needsMerge { try settle() }
    return sealed.0
  }

  /// The same, without the write lock where there is nothing to do.
  @discardableResult
  func sealNews() throws -> Range<UInt64> {
    try hasNews() ? seal() : 0..<0
  }

  /// Reads a moment at which nothing is noted, without the write lock unless something is by then.
  func readSealed<T>(_ body: (StoreTransaction) throws -> T) throws -> T {
    let output: T? = try read { try SnapshotCut.hasNotes($0) ? nil : body($0) }
    if let output { return output }
    return try sealing { transaction in
      _ = try Seal.run(in: transaction)
      return try body(transaction)
    }
  }

  /// One transaction that may seal. What it sealed may be what a row held aside was waiting for.
  func sealing<T>(_ body: (StoreTransaction) throws -> T) throws -> T {
    let (result, isWaitedFor) = try transaction { transaction in
      let last = try transaction.author(0).stored
      let result = try body(transaction)
      let hasSealed = try transaction.author(0).stored > last
      return (result, try hasSealed && transaction.held.isUnsettled())
    }
    if isWaitedFor { settleIfPossible() }
    return result
  }

  /// ``settle()`` behind a commit whose caller would do again what it is told has failed.
  func settleIfPossible() {
    // It stays due: ``hasNews()`` says so, and the next seal does it or says what keeps it.
    try? settle()
  }

  /// Looks again at the rows held aside that were woken, and at what waits for the clock.
  func settle() throws {
    try transaction(withoutForeignKeys: true) { transaction in
      _ = try Seal.run(in: transaction)
      try transaction.triggers.merging {
        let pass = try MergePass(transaction)
        try pass.takeUpDue()
        try pass.finish()
      }
    }
  }

  package func merge(_ page: PulledPage, from place: RemotePlace) throws -> MergeSummary {
    try merge(page, from: place, until: { false }).0
  }

  package func merge(
    _ page: PulledPage, from place: RemotePlace, until isOver: () -> Bool
  ) throws -> (MergeSummary, merged: Int) {
    do {
      return try merge(page, from: place, isCheckingBodies: false, isOver)
    } catch is WireError {
      // Some body cannot be read. Only now are all of them read once more, to find which.
      return try merge(page, from: place, isCheckingBodies: true, isOver)
    }
  }

  private func merge(
    _ page: PulledPage, from place: RemotePlace, isCheckingBodies: Bool, _ isOver: () -> Bool
  ) throws -> (MergeSummary, merged: Int) {
    var merged = 0
    let summary = try transaction(withoutForeignKeys: true) { transaction in
      // What other copies wrote under the former id is not in the page, and its cursor is
      // behind it (INV-05).
      guard place.excluded == nil || place.excluded == transaction.ownID else {
        throw RemoteError(.unavailable, "this replica has another id since the page was asked for")
      }
      _ = try Seal.run(in: transaction)
      let summary = try transaction.triggers.merging {
        let pass = try MergePass(
          transaction, isCheckingBodies: isCheckingBodies,
          remoteMilliseconds: page.nowMilliseconds ?? 0,
          forks: RemoteForks(transaction, at: place.remoteID))
        try pass.takeUpDue()
        let skipped = Planted.isActive(.cursorEarly) && page.operations.count > 1 ? 1 : 0
        for operation in page.operations.dropLast(skipped) {
          let isBetweenGroups = merged == 0 || !page.operations[merged - 1].envelope.continues
          if isBetweenGroups, isOver(), merged > 0 { break }
          try pass.take(operation)
          merged += 1
        }
        merged += skipped
        try CrashPoint.reach(.mergeBeforeCursor)
        try pass.finish()
        return pass.summary
      }
      if merged == page.operations.count { try transaction.remotes.save(place) }
      try CrashPoint.reach(.mergeBeforeCommit)
      return summary
    }
    try CrashPoint.reach(.mergeAfterCommit)
    return (summary, merged)
  }

  package func versionVector() throws -> VersionVector {
    try heads("merged")
  }

  package func storedVersionVector() throws -> VersionVector {
    try heads("stored")
  }

  private func heads(_ column: String) throws -> VersionVector {
    try ask("SELECT id, \(column) FROM \(tables.author)") { statement in
      var heads = VersionVector()
      try statement.each { heads[try tables.author(in: statement)] = statement.raw(1) }
      return heads
    }
  }

  package func operations(lackedBy heads: VersionVector, maximumBytes: Int) throws
    -> [SyncOperation]
  {
    try read { try $0.operations(lackedBy: heads, maximumBytes: maximumBytes) }
  }

  package func place(at remoteID: String) throws -> RemotePlace? {
    try read { try $0.remotes.place(at: remoteID) }
  }

  package func resetPlace(_ place: RemotePlace) throws {
    try transaction { try $0.remotes.save(place) }
  }

  package func forks(at remoteID: String) throws -> [ReplicaFork] {
    try read { try $0.replicaForks(at: remoteID) }
  }

  package func dropForks(at remoteID: String, beyond heads: VersionVector) throws {
    try transaction { try $0.dropForks(at: remoteID, beyond: heads) }
  }

  package func offer(
    lackedBy heads: VersionVector, repeating repeated: Set<ReplicaID>, maximumBytes: Int,
    to remoteID: String
  ) throws -> [SyncOperation] {
    let known = try read { transaction in
      let operations = try transaction.operations(
        lackedBy: heads, repeating: repeated, at: remoteID, maximumBytes: maximumBytes)
      return try transaction.isOffered(operations, to: remoteID) ? operations : nil
    }
    if let known { return known }
    // Read again: another remote's clock may have given them new times in between.
    return try transaction { transaction in
      let operations = try transaction.operations(
        lackedBy: heads, repeating: repeated, at: remoteID, maximumBytes: maximumBytes)
      if try !transaction.isOffered(operations, to: remoteID) {
        try transaction.remotes.saveOffer(operations.heads[transaction.ownID], to: remoteID)
      }
      return operations
    }
  }

  package func noteAccepted(of sequence: UInt64, by remoteID: String) throws {
    guard try read({ try $0.remotes.accepted(by: remoteID) }) < sequence else { return }
    try transaction { try $0.remotes.saveAccepted(sequence, by: remoteID) }
  }

  package func restamp(after accepted: UInt64, at remoteID: String, nowMilliseconds: Int64) throws {
    try sealing { transaction in
      _ = try Seal.run(in: transaction)
      try Restamp(transaction).run(
        after: accepted, at: remoteID, nowMilliseconds: nowMilliseconds)
    }
  }

  package func correctClock(nowMilliseconds: Int64) throws -> Int64 {
    try sealing { transaction in
      let statement = try transaction.statement("SELECT \(NoteSQL.milliseconds)")
      _ = try statement.step()
      let offset = nowMilliseconds - statement.int64(0)
      statement.reset()
      let correction = abs(offset) > ClockLimit.toleratedMilliseconds ? offset : 0
      if abs(correction - transaction.correctionMilliseconds) > 1000 {
        // Notes keep the clock that they were taken under.
        _ = try Seal.run(in: transaction)
        transaction.setCorrection(correction)
        try transaction.saveClock()
      }
      return offset
    }
  }

  package func hasNews() throws -> Bool {
    try ask(news) { statement in try statement.first { statement.int64(0) != 0 } ?? false }
  }

  package func ownHead() throws -> (id: ReplicaID, sequence: UInt64) {
    try ask("SELECT id, merged FROM \(tables.author) WHERE idx = 0") { statement in
      guard let head = try statement.first({ (try tables.author(in: statement), statement.raw(1)) })
      else {
        throw ReplicaError.notInstalled
      }
      return head
    }
  }

  package func counts() throws -> ReplicaCounts {
    try read { transaction in
      var counts = ReplicaCounts()
      let select = try transaction.statement(rowCounts)
      try select.each {
        counts.unsealedNotes = select.int(0)
        counts.operations = select.int(1)
        counts.heldAside = select.int(2)
      }
      counts.waiting = try transaction.waiting.summary(authors: transaction.authors.ids)
      if transaction.large.hasRows { counts.largeRows = try transaction.countLargeRows() }
      counts.skippedTriggers = try knownTriggers.skipped(transaction.db) {
        try transaction.triggers.all()
      }
      counts.conflicts = try transaction.conflicts()
      counts.forks = try transaction.remotes.forks(transaction.authors.ids)
      return counts
    }
  }

  package func canonicalState() throws -> [CanonicalRow] {
    try read { try CanonicalState(transaction: $0).rows() }
  }
}

/// How far a clock may be off before Tern corrects for it.
enum ClockLimit {
  static let toleratedMilliseconds: Int64 = 5 * 60 * 1000
}
