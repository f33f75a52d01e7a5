#if Server
import GRDB
import TernDatabase

extension SQLiteSpaceStore {
  /// Opens the data file at `path`, or makes it; one of an older format is brought forward, but not
  /// by a visitor.
  ///
  /// - Parameters:
  ///   - generator: draws the epoch of a new store.
  ///   - slowStatements: who is told of statements that took long.
  ///   - checkpoints: whether this object moves the log into the file now and then. One that is
  ///     open for a moment beside a server, a visitor, leaves that to the server: SQLite before
  ///     3.51.3 must not have one connection write while another one checkpoints. So it does with
  ///     an older format, which the server may be the one to know.
  /// - Throws: ``StoreError`` with the file untouched, `DatabaseError`.
  public convenience init(
    path: String, using generator: inout some RandomNumberGenerator, checkpoints: Bool = true,
    slowStatements: SlowStatements? = nil
  ) throws {
    func open() throws -> (DatabasePool, String) {
      if try !ServerFile(path: path).holdsStore() {
        try Self.create(path, epoch: Epoch.draw(using: &generator))
      }
      let pool = try DatabasePool(
        path: path, configuration: Self.configuration(telling: slowStatements))
      try Self.prepare(pool, checkpoints: checkpoints)
      let epoch = try Self.readEpoch(pool, path: path)
      try Self.upgrade(pool, isAllowed: checkpoints)
      return (pool, epoch)
    }
    do {
      let (pool, epoch) = try Self.retryingWithReserve(path) { try open() }
      self.init(pool: pool, epoch: epoch, checkpoints: checkpoints)
    } catch let error as DatabaseError where error.resultCode == .SQLITE_CANTOPEN {
      throw StoreError(.inaccessible, "\(path) can't be opened; check its permissions")
    }
  }

  /// Does something again where the disk had no room for it, and the reserve file gave it some.
  static func retryingWithReserve<Value>(_ path: String, _ body: () throws -> Value) throws -> Value
  {
    do {
      return try body()
    } catch let error as DatabaseError
      where [.SQLITE_FULL, .SQLITE_IOERR, .SQLITE_CANTOPEN].contains(error.resultCode)
      && ReserveFile(dataPath: path).release()
    {
      return try body()
    }
  }

  /// Says that others on the machine may open a data file; `nil` where nobody else may.
  package static func complaint(of path: String) -> String? { OwnerOnly.complaint(of: path) }

  private static var configuration: Configuration {
    var configuration = Configuration()
    configuration.busyMode = .timeout(10)
    configuration.maximumReaderCount = 4
    return configuration
  }

  private static func configuration(telling slowStatements: SlowStatements?) -> Configuration {
    var configuration = configuration
    guard let slowStatements else { return configuration }
    configuration.prepareDatabase { db in
      db.trace(options: .profile) { event in
        guard case .profile(let statement, let seconds) = event else { return }
        // Without its arguments.
        slowStatements.note(statement.sql, .seconds(seconds))
      }
    }
    return configuration
  }

  private static func create(_ path: String, epoch: String) throws {
    OwnerOnly.makeFile(path)
    let queue = try DatabaseQueue(path: path, configuration: configuration)
    defer { try? queue.close() }
    try queue.inDatabase { db in
      try db.inTransaction(.immediate) {
        // Another process can have been first.
        if try Int.fetchOne(db, sql: "SELECT count(*) FROM sqlite_master") == 0 {
          try ServerSchema.create(db, epoch: epoch)
        }
        return .commit
      }
      // What a crash had left may have been somebody else's.
      let id = try Int32.fetchOne(db, sql: "PRAGMA application_id")
      guard id == ServerFile.applicationID else { throw ServerFile.notServerFile(path) }
    }
  }

  /// GRDB sets `synchronous = NORMAL` while it opens a pool, which loses acknowledged pushes with
  /// the power; so FULL is set afterwards, and looked at.
  private static func prepare(_ pool: DatabasePool, checkpoints: Bool) throws {
    try pool.writeWithoutTransaction { db in
      try db.execute(sql: "PRAGMA synchronous = FULL")
      // What opening has committed without a sync goes into the file, as a sync that fails later
      // could leave it out of the log for good, and with it all that follows.
      try db.execute(
        sql: checkpoints ? "PRAGMA wal_checkpoint(PASSIVE)" : "PRAGMA wal_autocheckpoint = 0")
      guard try synchronousSetting(db) == 2,
        try String.fetchOne(db, sql: "PRAGMA journal_mode") == "wal"
      else {
        throw StoreError(
          .inaccessible,
          "\(pool.path) can't be written durably; put it on a local disk")
      }
    }
  }

  /// Looks first, as it hardly ever has to write.
  private static func upgrade(_ pool: DatabasePool, isAllowed: Bool) throws {
    let version = try pool.read { try Int32.fetchOne($0, sql: "PRAGMA user_version") } ?? 0
    guard version != ServerFile.formatVersion else { return }
    guard isAllowed else {
      throw StoreError(
        .olderFormat,
        "\(pool.path) has format \(version), which a server of before may be serving; start 'tern "
          + "serve' of this version first, which brings it to \(ServerFile.formatVersion)")
    }
    try pool.writeWithoutTransaction { db in
      try db.inTransaction(.immediate) {
        try ServerSchema.upgrade(db)
        return .commit
      }
    }
  }

  private static func synchronousSetting(_ db: Database) throws -> Int? {
    try Int.fetchOne(db, sql: "PRAGMA synchronous")
  }

  /// What the writing connection's `synchronous` is now; 2 is FULL.
  func synchronousSetting() throws -> Int? {
    try pool.writeWithoutTransaction { try Self.synchronousSetting($0) }
  }

  private static func readEpoch(_ pool: DatabasePool, path: String) throws -> String {
    try pool.read { db in
      let version = try Int32.fetchOne(db, sql: "PRAGMA user_version") ?? 0
      try ServerFile.checkVersion(version, path: path)
      guard let epoch = try String.fetchOne(db, sql: "SELECT epoch FROM store") else {
        throw StoreError(.damaged, "\(path) has no epoch; restore it from a backup")
      }
      return epoch
    }
  }
}
#endif
