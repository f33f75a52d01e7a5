#if PostgreSQL
import TernCore

/// Whether a connection's server can hold a store.
struct PostgreSQLStanding {
  let connection: PostgreSQLConnection

  init(_ connection: PostgreSQLConnection) { self.connection = connection }

  /// The timeline on which a primary writes, in SQL.
  static let timeline = """
    CASE WHEN NOT pg_is_in_recovery() THEN
      ('x' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8))::bit(32)::bigint END
    """

  /// - Returns: the timeline on which the server writes: each promotion, and each restoration to a
  ///   point in time, begins a later one.
  /// - Throws: ``StoreError``, ``PostgreSQLError``.
  func check() throws -> UInt64 {
    let row = try connection.run(
      """
      SELECT current_setting('server_version_num')::bigint,
        pg_is_in_recovery()::int::bigint,
        (current_setting('default_transaction_read_only') = 'on')::int::bigint,
        (current_setting('fsync') = 'off')::int::bigint,
        (current_setting('synchronous_commit') = 'off')::int::bigint,
        \(DatabaseClock.now), \(Self.timeline)
      """
    ).first!
    guard row.integer(0) >= 150_000 else {
      throw StoreError(
        .inaccessible,
        "the database is PostgreSQL \(row.integer(0) / 10_000), and 15 is the oldest "
          + "that keeps a store; upgrade it")
    }
    guard !row.flag(1), !row.flag(2) else {
      throw StoreError(
        .inaccessible,
        "the database takes no writes: it is a standby, or read-only by "
          + "'default_transaction_read_only'; name the primary, e.g. with "
          + "'target_session_attrs=read-write'")
    }
    guard !row.flag(3), !row.flag(4) else {
      throw StoreError(
        .inaccessible,
        "the database says that a commit is durable before it is, by "
          + "\(row.flag(3) ? "'fsync = off'" : "'synchronous_commit = off'"); turn it on")
    }
    connection.clock?.note(row.integer(5))
    return UInt64(row.integer(6))
  }
}

/// Finds the tables of a store, or makes them, and brings them forward.
struct PostgreSQLOpening {
  let schema: PostgreSQLSchema
  let limits: PostgreSQLLimits
  let migrations: PostgreSQLMigrations

  /// - Parameter new: the epoch of a store that is made.
  /// - Returns: the store's epoch.
  /// - Throws: ``StoreError``, ``PostgreSQLError``.
  func epoch(_ connection: PostgreSQLConnection, orNew new: String) throws -> String {
    let epoch = try found(connection, orNew: new)
    try migrations.expand(connection, schema, limits)
    return epoch
  }

  private func found(_ connection: PostgreSQLConnection, orNew new: String) throws -> String {
    if let epoch = try find(connection) { return epoch }
    do {
      connection.begin(limits)
      for statement in ["CREATE SCHEMA IF NOT EXISTS \(schema.quoted)"] + schema.statements {
        connection.queue(statement)
      }
      connection.queue(
        "INSERT INTO \(schema("store")) (epoch, format, oldest_format) VALUES ($1, 1, 1)",
        [.text(new)])
      try connection.commit()
      return new
    } catch {
      connection.rollBack()
      // Another process can have been first.
      guard connection.isIdle, let epoch = try find(connection) else { throw error }
      return epoch
    }
  }

  private func find(_ connection: PostgreSQLConnection) throws -> String? {
    let known = try connection.run(
      "SELECT to_regclass($1)::text", [.text(schema("store"))])
    guard known.first?.isNull(0) == false else { return nil }
    guard let row = try connection.run("SELECT epoch, oldest_format FROM \(schema("store"))").first,
      let epoch = row.text(0)
    else {
      throw StoreError(
        .damaged, "the schema \(schema.name) has no epoch; restore the database from a backup")
    }
    guard row.integer(1) <= migrations.format else {
      throw PostgreSQLFormats.tooNew(schema, needed: row.integer(1), known: migrations.format)
    }
    return epoch
  }
}
#endif
