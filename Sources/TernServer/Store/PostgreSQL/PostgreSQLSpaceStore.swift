#if PostgreSQL
import Foundation
import Synchronization
import TernCore

/// A store in a schema of a PostgreSQL database, version 15 or newer. Any number of processes can
/// use it at the same time.
///
/// It rests on row locks, unique constraints and transactions alone: on no extension, no setting of
/// a session and no lock outside rows. So a pool that gives each transaction another connection,
/// such as PgBouncer's transaction mode, can be between.
public final class PostgreSQLSpaceStore: SpaceStore {
  public let epoch: String
  /// As many transactions as there are connections, but for some: a short look finds one of those.
  public let concurrentUpdates: Int
  private let pool: PostgreSQLPool
  let schema: PostgreSQLSchema
  private let limits: PostgreSQLLimits
  private let announcements: PostgreSQLAnnouncements?
  private let migrations: PostgreSQLMigrations
  let newestTimeline: NewestTimeline
  let databaseClock: DatabaseClock
  /// How many connections are for reading, if there are as many.
  private static let kept = 6

  /// Connects, and makes the tables where they are not there.
  ///
  /// - Parameters:
  ///   - address: a URL or a string of settings as libpq takes it. Without `sslmode` it is
  ///     `verify-full`, or `prefer` where all hosts are this machine.
  ///   - schema: the schema of the database that holds the tables.
  ///   - listening: the address at which notifications of other processes are heard, without a pool
  ///     that hands out connections for a transaction; `nil` for none.
  ///   - passwordFile: a file with the password, but for line feeds at its end. It is read at each
  ///     new connection, so that it can be changed while the server runs.
  ///   - slowStatements: who is told of statements that took long.
  ///   - generator: draws the epoch of a new store.
  /// - Throws: ``StoreError`` where the database is none to keep a store in, or notifications don't
  ///   arrive; ``PostgreSQLError``.
  /// - Source: https://www.postgresql.org/docs/15/libpq-connect.html#LIBPQ-CONNSTRING
  public convenience init(
    _ address: String, schema: String = "tern", listeningAt listening: String? = nil,
    limits: PostgreSQLLimits = .init(), passwordFile: String? = nil,
    slowStatements: SlowStatements? = nil, using generator: inout some RandomNumberGenerator
  ) throws {
    try self.init(
      address, schema: schema, listeningAt: listening, limits: limits,
      password: passwordFile.map { PasswordFile(path: $0) }, slowStatements: slowStatements,
      probe: nil, using: &generator)
  }

  init(
    _ address: String, schema: String, listeningAt listening: String? = nil,
    limits: PostgreSQLLimits, password: PasswordFile? = nil,
    clock: ServerClock = .system, slowStatements: SlowStatements? = nil, probe: PostgreSQLProbe?,
    migrations: PostgreSQLMigrations = .current, using generator: inout some RandomNumberGenerator
  ) throws {
    self.limits = limits
    self.schema = PostgreSQLSchema(name: schema)
    self.migrations = migrations
    concurrentUpdates = max(1, limits.connections - Self.kept)
    let newestTimeline = NewestTimeline()
    self.newestTimeline = newestTimeline
    let databaseClock = DatabaseClock(beside: clock)
    self.databaseClock = databaseClock
    pool = PostgreSQLPool(
      address, password: password, connections: limits.connections, patience: limits.patience
    ) {
      $0.clock = databaseClock
      $0.timeline = try PostgreSQLStanding($0).check()
      try newestTimeline.note($0.timeline)
      $0.slowStatements = slowStatements
      $0.probe = probe
      $0.prepared = limits.preparesStatements ? [:] : nil
    }
    let opening = PostgreSQLOpening(schema: self.schema, limits: limits, migrations: migrations)
    let new = Epoch.draw(using: &generator)
    epoch = try pool.withConnection { try opening.epoch($0, orNew: new) }
    announcements = listening.map {
      PostgreSQLAnnouncements(
        $0, password: password, schema: schema, patience: limits.patience, using: &generator
      ) { try newestTimeline.note($0) }
    }
    try announcements?.prove(run)
  }

  public var connections: StoreConnections? { pool.connections }

  /// Ends all access; what runs at the moment is finished.
  public func close() {
    pool.close()
    announcements?.close()
  }

  // MARK: - Other processes

  public var timeline: UInt64 { newestTimeline.value }

  /// The database's clock, as it was read last: processes on several machines go by one.
  public var clock: ServerClock { databaseClock.clock }

  public var announces: Bool { announcements != nil }

  public func announce(_ spaces: Set<SpaceName>) throws {
    try announcements?.announce(spaces.map(\.text), run)
  }

  public func announced(within time: Duration) throws -> Set<SpaceName> {
    Set(try announcements?.next(within: time).map { SpaceName(stored: $0) } ?? [])
  }

  // MARK: - Transactions

  public func update<Value: Sendable>(
    _ space: SpaceName, _ body: (any SpaceTransaction) throws -> Value
  ) throws -> Value {
    try updating(space, push: nil) { try body($0) }
  }

  public func update<Value: Sendable>(
    _ space: SpaceName, foreseeing push: ForeseenPush,
    _ body: (any SpaceTransaction) throws -> Value
  ) throws -> Value {
    try updating(space, push: push) { try body($0) }
  }

  public func updateUnlessLocked<Value: Sendable>(
    _ space: SpaceName, _ body: (any SpaceTransaction) throws -> Value
  ) throws -> Value? {
    try naming(space) {
      try transaction { connection in
        try PostgreSQLSpaceTransaction(unlessLocked: space, connection, schema, epoch).map(body)
      }
    }
  }

  func updating<Value>(
    _ space: SpaceName, push: ForeseenPush?, _ body: (PostgreSQLSpaceTransaction) throws -> Value
  ) throws -> Value {
    try naming(space) {
      try transaction { connection in
        try body(PostgreSQLSpaceTransaction(connection, schema, space: space, epoch, push: push))
      }
    }
  }

  /// What several statements read is of one moment.
  func read<Value>(_ space: SpaceName, _ body: (PostgreSQLConnection) throws -> Value) throws
    -> Value
  {
    try naming(space) { try transaction(isReading: true, body) }
  }

  /// One statement, and before it the check of the format: a transaction by themselves, as nothing
  /// else is between two syncs of the protocol.
  func run(_ sql: String, _ values: [PostgreSQLValue] = []) throws -> PostgreSQLRows {
    try repeating {
      try pool.withConnection { connection in
        try connection.runAll([connection.opening(checking: formatCheck), (sql, values)])[1]
      }
    }
  }

  /// Fails where older versions, of which this one is, may not use the tables any more.
  private var formatCheck: String { migrations.check(in: schema) }

  func write<Value>(_ body: (PostgreSQLConnection) throws -> Value) throws -> Value {
    try transaction(body)
  }

  private func transaction<Value>(
    isReading: Bool = false, _ body: (PostgreSQLConnection) throws -> Value
  ) throws -> Value {
    try repeating {
      try pool.withConnection(ifUnanswered: isReading ? .max : concurrentUpdates) { connection in
        connection.begin(limits, isReading: isReading, checking: formatCheck)
        do {
          let value = try body(connection)
          try connection.commit()
          return value
        } catch {
          connection.rollBack()
          throw error
        }
      }
    }
  }

  /// Runs a transaction again that was a deadlock's victim or could not be serialized, or for which
  /// there was a connection that had died in the pool: of neither anything is stored.
  private func repeating<Value>(_ body: () throws -> Value) throws -> Value {
    for _ in 0..<limits.repetitions {
      do {
        return try body()
      } catch let error as PostgreSQLError where error.isRepeatable {
        continue
      } catch let error as PostgreSQLError where error.isStale {
        // The others in the pool are of the same server.
        pool.forgetIdle()
      } catch let error as PostgreSQLError where error.isOfFormat {
        throw PostgreSQLFormats.tooNew(schema, needed: nil, known: migrations.format)
      }
    }
    return try body()
  }

  // MARK: - Formats

  /// Which versions of Tern can use the store.
  ///
  /// - Throws: ``PostgreSQLError``; ``StoreError`` where this version can't any more.
  public func formats() throws -> PostgreSQLFormats {
    let row = try run("SELECT format, oldest_format FROM \(schema("store"))").first!
    return PostgreSQLFormats(
      format: row.integer(0), oldest: row.integer(1), known: migrations.format)
  }

  /// Ends the use by older versions, of which none may run any more: each that does refuses what
  /// it is asked for as `unavailable` from now on. It can't be taken back. Durable on return; where
  /// it throws, it goes on from there when it is called again.
  ///
  /// - Throws: ``StoreError`` with `inUse` where another session holds a lock on a table;
  ///   ``PostgreSQLError``.
  @discardableResult
  public func finishMigration() throws -> PostgreSQLFormats {
    try pool.withConnection { try migrations.finish($0, schema, limits) }
    return try formats()
  }

  /// Names the space whose numbers are out of range.
  func naming<Value>(_ space: SpaceName, _ body: () throws -> Value) throws -> Value {
    do {
      return try body()
    } catch let error as NumberOutOfRange {
      throw error.error(in: space)
    }
  }
}

/// A database's clock: what it said last, and what has passed since.
final class DatabaseClock: Sendable {
  private let base: ServerClock
  /// What it said last, and when by a clock of this machine that nobody sets.
  private let noted: Mutex<(time: Int64, uptime: Int64)>

  init(beside base: ServerClock) {
    self.base = base
    noted = Mutex((base.nowMilliseconds, base.uptimeMilliseconds))
  }

  /// In SQL, in milliseconds since 1970.
  static let now = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint"

  /// - Parameter milliseconds: what the database's clock says, which has just arrived.
  func note(_ milliseconds: Int64) {
    noted.withLock { $0 = (milliseconds, base.uptimeMilliseconds) }
  }

  var clock: ServerClock {
    base.showing { [self] uptime in
      noted.withLock { $0.time + uptime - $0.uptime }
    }
  }
}

/// The newest timeline of the database that any connection has found.
final class NewestTimeline: Sendable {
  private let newest = Mutex<UInt64>(0)

  var value: UInt64 { newest.withLock { $0 } }

  /// - Throws: ``StoreError`` for a server that goes on in an older history, as a primary does that
  ///   does not know yet that another one was promoted.
  func note(_ timeline: UInt64) throws {
    let newest = newest.withLock { newest in
      newest = max(newest, timeline)
      return newest
    }
    guard timeline == newest else {
      throw StoreError(
        .inaccessible,
        "the database is on timeline \(timeline), and its primary is on \(newest) since a failover; "
          + "end the old primary, or let the address name the new one")
    }
  }
}

/// How a store uses its database.
public struct PostgreSQLLimits: Hashable, Sendable {
  /// The most connections of this process.
  public var connections = 16
  /// How long one answer may take, and the wait for a connection.
  public var patience = Duration.seconds(10)
  /// How long a transaction waits for a space that another process has locked.
  public var lockTimeout = Duration.seconds(5)
  /// After so long without a statement the server ends a transaction: so a process that was stopped
  /// in the middle of one keeps nobody else from the space for longer.
  public var idleTimeout = Duration.seconds(5)
  /// How long a change of the tables waits for those who use them, while all others wait behind it.
  public var migrationLockTimeout = Duration.seconds(2)
  /// Whether the server keeps statements and their plans for each connection, which takes half the
  /// work from it. Then no pool may be between that hands out connections for a transaction, unless
  /// it keeps track of them, as PgBouncer 1.21 does with `max_prepared_statements`.
  public var preparesStatements = false
  /// How often a transaction is run again that a deadlock or another transaction ended.
  public var repetitions = 3

  public init() {}
}

extension PostgreSQLConnection {
  /// Begins a transaction with the next statement. Its limits end with it. Warnings are told: a
  /// COMMIT that nobody may count on comes back with one.
  ///
  /// - Parameter check: an expression that fails where the transaction may not be.
  func begin(_ limits: PostgreSQLLimits, isReading: Bool = false, checking check: String = "0") {
    queue("BEGIN ISOLATION LEVEL " + (isReading ? "REPEATABLE READ READ ONLY" : "READ COMMITTED"))
    let first = opening(limits.settings, checking: check)
    queue(first.sql, first.values)
  }

  /// Checks, and sets until the end of the transaction. A plan that is kept is made for whatever
  /// the tables hold later: it uses their indexes.
  func opening(
    _ settings: [(name: String, value: String)] = [], checking check: String
  ) -> (sql: String, values: [PostgreSQLValue]) {
    let all = settings + (prepared == nil ? [] : Self.ofKeptPlans)
    return (
      """
      SELECT \(check), (SELECT count(set_config(name, value, true))
        FROM unnest($1::text[], $2::text[]) AS setting (name, value))
      """, [.texts(all.map(\.name)), .texts(all.map(\.value))]
    )
  }

  private static let ofKeptPlans = [
    (name: "plan_cache_mode", value: "force_generic_plan"), ("enable_seqscan", "off"),
    ("jit", "off"),
  ]
}

extension PostgreSQLLimits {
  /// The database's own, for one transaction.
  fileprivate var settings: [(name: String, value: String)] {
    [
      ("client_min_messages", "warning"), ("lock_timeout", "\(lockTimeout.milliseconds)"),
      ("idle_in_transaction_session_timeout", "\(idleTimeout.milliseconds)"),
      ("statement_timeout", "\(patience.milliseconds)"), ("tcp_keepalives_idle", "10"),
      ("tcp_keepalives_interval", "5"), ("tcp_keepalives_count", "3"),
    ]
  }
}
#endif
