import GRDB
import TernCore
import TernDatabase

/// One write transaction of a replica: what seal and merge share while it is open.
///
/// Used by one thread, inside one synchronous `write`.
final class StoreTransaction {
  let db: Database
  let tables: StoreTables
  let sql: [TableSQL]
  var authors: Authors
  let schemaVersion: UInt32
  let connection: StoreConnection
  var clock: ReplicaClock
  var authorTable: AuthorTable
  var states: StateTable
  var waiting: WaitingTable
  let held: HeldTable
  let veils: VeilTable
  var large: LargeTable
  var log: LogTable { LogTable(connection) }
  var remotes: RemoteTable { RemoteTable(connection) }
  var toldForks: ToldForkTable { ToldForkTable(connection) }
  var notes: NoteTable { NoteTable(connection) }
  var migrated: MigratedTable { MigratedTable(connection) }
  var undone: UndoTable { UndoTable(connection) }
  var reverted: RevertMarks { RevertMarks(connection) }
  var conflicts: ConflictTable { ConflictTable(connection) }
  var dismissed: DismissedTable { DismissedTable(connection) }
  var goneParents: GoneParentTable { GoneParentTable(connection) }
  /// Of unsynced tables to synced ones; none where nothing is merged.
  let localReferences: LocalReferences
  /// Where somebody listens: which rows changed.
  let recorder: ChangeRecorder?
  let inboxLimits: InboxLimits
  /// The app's.
  private(set) lazy var triggers = TransactionTriggers(connection, of: sql, known: knownTriggers)
  private let knownTriggers: KnownTriggers?
  /// `nil` where nobody counts: in a transaction that the app hands over, and while opening.
  private let others: OtherWriters?
  var failedTriggers: FailedTriggerTable { FailedTriggerTable(connection) }
  /// Whether a write can reach other tables, once that was looked up.
  private var spreadsWrites: Bool?

  init(
    _ db: Database, tables: StoreTables, sql: [TableSQL], recorder: ChangeRecorder? = nil,
    inboxLimits: InboxLimits = InboxLimits(), knownTriggers: KnownTriggers? = nil,
    statements: StatementMemory? = nil, others: OtherWriters? = nil,
    localReferences: LocalReferences = .none
  ) throws {
    self.db = db
    self.localReferences = localReferences
    self.others = others
    let connection = StoreConnection(db, tables, memory: statements)
    self.connection = connection
    held = HeldTable(connection)
    veils = VeilTable(connection)
    states = StateTable(connection)
    self.knownTriggers = knownTriggers
    self.inboxLimits = inboxLimits
    self.recorder = recorder
    self.tables = tables
    self.sql = sql
    let author: FastStatement
    do {
      let replica = try connection.statement(tables.statements.readReplica)
      author = try connection.statement(tables.statements.readAuthors)
      guard try replica.step() else { throw ReplicaError.notInstalled }
      // What a newer Tern made of the tables while this one had them open, only that one reads.
      guard replica.int64(6) <= tables.format else {
        defer { replica.reset() }
        throw ReplicaError.newerFormat(Int(replica.int64(6)))
      }
      clock = ReplicaClock(
        connection, lastTime: HybridTime(rawValue: replica.raw(0)),
        correctionMilliseconds: replica.int64(2))
      schemaVersion = UInt32(replica.int64(1))
      large = LargeTable(connection, hasRows: replica.int64(3) != 0)
      waiting = WaitingTable(
        connection, hasGroups: replica.int64(5) != 0, hasFuture: replica.int64(4) != 0)
      replica.reset()
      guard try author.step() else { throw ReplicaError.notInstalled }
    } catch let error as DatabaseError where error.resultCode == .SQLITE_ERROR {
      // A disk's error may have ended the transaction, and then no more can be asked.
      throw try tables.reason(for: error, in: db)
    }
    authorTable = AuthorTable(connection, own: AuthorRow(author, from: 1))
    var ids: [ReplicaID] = []
    repeat {
      ids.append(try tables.author(in: author))
    } while try author.step()
    author.reset()
    authors = Authors(ids)
  }

  var ownID: ReplicaID { authors.ids[0] }

  func statement(_ sql: String) throws -> FastStatement {
    try connection.statement(sql)
  }

  /// Groups that waited for the clock and do no longer.
  ///
  /// - Parameter remoteMilliseconds: a remote's clock, or 0.
  func dueGroups(remoteMilliseconds: Int64) throws -> [LogGroup] {
    guard waiting.hasFuture else { return [] }
    return try waiting.groups(dueBy: max(remoteMilliseconds, clock.milliseconds()))
  }

  /// Whether an operation is in the log and not in the state: its group is put aside or lacks its
  /// end.
  func isWaiting(_ id: LogID) throws -> Bool {
    try id.sequence > authorTable.row(id.author).merged || waiting.holds(id)
  }

  /// Tells observers of writes that went past GRDB.
  func notifyChanges(in shape: TableShape) throws {
    try db.notifyChanges(inTable: shape.name)
  }

  /// Tells observers of what other connections wrote to these tables, whose notes are sealed.
  func notifyOfOtherWriters(_ noted: [TableSQL]) throws {
    guard try others?.haveWritten(db) ?? true else { return }
    for sql in noted { try notifyChanges(in: sql.shape) }
  }

  /// The same for a write under the app's triggers and foreign keys: cascades and triggers write to
  /// tables that nobody here knows.
  func notifyWrite(to shape: TableShape) throws {
    if spreadsWrites == nil {
      let hasActions =
        try Bool.fetchOne(db, sql: "PRAGMA foreign_keys") ?? false && !triggers.actions().isEmpty
      spreadsWrites = try hasActions || !triggers.all().isEmpty
    }
    guard spreadsWrites! else { return try notifyChanges(in: shape) }
    // Not `.fullDatabase`, which fails where any table has a quote in its name.
    for name in try db.observableTables() { try db.notifyChanges(inTable: name) }
  }
}
