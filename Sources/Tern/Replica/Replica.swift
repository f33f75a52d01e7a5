import GRDB
@_spi(Rehearsal) import TernCore
import TernDatabase

/// The app's database with some of its tables made into replicas.
///
/// The app goes on writing plain SQL through GRDB, the `sqlite3` program or another process; all of
/// it is captured. ``SyncEngine`` carries it to a remote and merges what comes back.
///
/// ```swift
/// let replica = try await Replica.open(database, schema: .library, migrator: migrator)
/// ```
public final class Replica: Sendable {
  package let store: SQLiteReplicaStore
  /// The app's own database.
  public var database: any DatabaseWriter { store.database }
  package let localWrites: LocalWrites
  /// Where the tails of order keys come from.
  let random: @Sendable () -> UInt64

  /// 30 days.
  public static let defaultLogRetention = Duration.seconds(30 * 24 * 60 * 60)

  /// Opens, or opens again, the replica in a database, off the caller's actor.
  ///
  /// Where a migration is due, seals what is noted, lifts the triggers and runs the migrator: what
  /// a migration writes is not captured. Then, at every opening, seals what is noted, compares the
  /// schema with the tables, puts the triggers in place, and adopts the rows of tables that were
  /// not synced before.
  ///
  /// Cost: the same however many rows there are; where migrations are due, a pass over the synced
  /// tables before each, and room for a copy of their short values; where one ran since the last
  /// opening, a look at every row.
  ///
  /// - Parameters:
  ///   - database: give its configuration a `busyMode` of some seconds where more than one process
  ///     writes, a widget for example: without one GRDB has the app's own writes fail at once, as
  ///     `SQLITE_BUSY`, while somebody else writes, and those of the migrator. Tern's own wait five
  ///     seconds for a writer even then.
  ///   - migrator: the app's, which is not to be run otherwise on a database that syncs: what it
  ///     writes while the triggers are there is captured, on every device.
  ///   - name: tells replicas with disjoint tables in one database apart: letters and digits.
  ///   - durability: what a commit that returned survives; set on the writer, which a queue of jobs
  ///     and the app's own commits share, and checked.
  ///   - logRetention: how long operations stay in the log that every remote holds; as long can a
  ///     row's history be told.
  ///   - inbox: how much of what concurrent writes lost is kept:
  ///     ``inbox(of:after:limit:withDismissed:)``.
  /// - Throws: ``SchemaError`` for a table that cannot sync; ``ReplicaError`` `.newerFormat`,
  ///   `.olderFormat`, `.damaged` and `.invalidName`; ``DatabaseSetupError`` where the durability
  ///   cannot be had; what the migrator throws, and `DatabaseError`.
  public static func open(
    _ database: any DatabaseWriter, schema: SyncSchema, migrator: DatabaseMigrator? = nil,
    name: String = "main", durability: Durability = .powerLoss,
    logRetention: Duration = Replica.defaultLogRetention, inbox: InboxLimits = InboxLimits()
  ) async throws -> Replica {
    try await BlockingWork.shared.run {
      try openBlocking(
        database, schema: schema, migrator: migrator, name: name, durability: durability,
        logRetention: logRetention, inbox: inbox)
    }
  }

  /// The same on the caller's thread, which it blocks: for a command-line program, or an
  /// initializer that migrates the database already. In an asynchronous function Swift takes the
  /// other one.
  public static func open(
    _ database: any DatabaseWriter, schema: SyncSchema, migrator: DatabaseMigrator? = nil,
    name: String = "main", durability: Durability = .powerLoss,
    logRetention: Duration = Replica.defaultLogRetention, inbox: InboxLimits = InboxLimits()
  ) throws -> Replica {
    try openBlocking(
      database, schema: schema, migrator: migrator, name: name, durability: durability,
      logRetention: logRetention, inbox: inbox)
  }

  /// ``open(_:schema:migrator:name:durability:logRetention:inbox:)`` on the caller's thread, with
  /// the sources of identifiers and random numbers given.
  package static func openBlocking(
    _ database: any DatabaseWriter, schema: SyncSchema, migrator: DatabaseMigrator? = nil,
    name: String = "main", durability: Durability = .powerLoss,
    logRetention: Duration = Replica.defaultLogRetention, inbox: InboxLimits = InboxLimits(),
    random: @escaping @Sendable () -> UInt64 = Replica.drawn,
    makeID: @escaping () -> ReplicaID = ReplicaID.drawn
  ) throws -> Replica {
    guard !name.isEmpty, name.utf8.allSatisfy({ 48...57 ~= $0 || 97...122 ~= $0 | 32 }) else {
      throw ReplicaError(.invalidName, "a replica's name has letters and digits only: “\(name)”")
    }
    try durability.apply(to: database)
    let tables = StoreTables(name: name)
    let installation = Installation(
      database: database, schema: schema, tables: tables, inboxLimits: inbox, makeID: makeID)
    try installation.migrate(migrator)
    let (sql, catalogue) = try installation.install()
    try CrashPoint.reach(.openAfterCommit)
    let access = StoreAccess(database, tables, sql, catalogue: catalogue, inboxLimits: inbox)
    let store = SQLiteReplicaStore(access, retention: logRetention, random: random)
    return Replica(store: store, random: random)
  }

  private init(store: SQLiteReplicaStore, random: @escaping @Sendable () -> UInt64) {
    self.store = store
    self.random = random
    localWrites = LocalWrites(tables: Set(store.sql.map(\.note.noteTable)))
    store.database.add(transactionObserver: localWrites, extent: .observerLifetime)
  }

  package static let drawn: @Sendable () -> UInt64 = {
    // An injected default.
    var generator = SystemRandomNumberGenerator()
    return generator.next()
  }

  /// Writes, and seals in the same transaction: exactly one operation for everything that `body`
  /// changed, and one commit.
  ///
  /// - Throws: what `body` throws, with nothing written, and `DatabaseError`.
  public func write<T: Sendable>(_ body: @Sendable @escaping (Database) throws -> T) async throws
    -> T
  {
    let store = store
    return try await BlockingWork.shared.run { try store.write(body) }
  }
}

extension ReplicaID {
  package static func drawn() -> ReplicaID {
    // An injected default.
    var generator = SystemRandomNumberGenerator()
    return ReplicaID(using: &generator)
  }
}

extension SQLiteReplicaStore {
  /// ``Replica/write(_:)`` on the caller's thread.
  package func write<T>(_ body: (Database) throws -> T) throws -> T {
    let (result, isWaitedFor) = try access.writing { db, asItStands in
      let start = ContinuousClock.now
      let result = try body(db)
      try CrashPoint.reach(.captureBeforeCommit)
      // As it stands after `body`, which may have sealed
      // by itself: ``Replica/writeWithoutUndo(in:_:)``.
      let transaction = try asItStands()
      _ = try Seal.run(in: transaction, since: start)
      return (result, try transaction.held.isUnsettled())
    }
    try CrashPoint.reach(.captureAfterCommit)
    if isWaitedFor { access.settleIfPossible() }
    return result
  }
}
