#if PostgreSQL
import TernCore

/// From one format of a store's tables to the next, in two transactions of its own.
struct PostgreSQLMigration: Sendable {
  /// Adds what the newer version needs. The older one goes on beside it, so nothing that it reads
  /// or writes may change.
  let expansion: @Sendable (PostgreSQLSchema) -> [String]
  /// Removes what only the older one needs, or holds it to what the newer one promises. Runs once
  /// an operator says that the older one runs nowhere any more.
  let contraction: @Sendable (PostgreSQLSchema) -> [String]
}

/// All migrations that a version knows, from format 1 on: the first one leads to format 2.
struct PostgreSQLMigrations: Sendable {
  let steps: [PostgreSQLMigration]

  /// Those of this version. There is one format so far.
  static let current = PostgreSQLMigrations(steps: [])

  /// The newest format that is known.
  var format: Int64 { 1 + Int64(steps.count) }

  /// Brings a store forward as far as is known, a transaction for each format. Other versions may
  /// use the tables meanwhile, and several processes may do this at once.
  ///
  /// - Throws: ``StoreError`` where another session holds a lock on a table; ``PostgreSQLError``.
  ///   What was brought forward before stays, and nothing of the rest is done.
  func expand(
    _ connection: PostgreSQLConnection, _ schema: PostgreSQLSchema, _ limits: PostgreSQLLimits
  ) throws {
    for (step, format) in zip(steps, Int64(2)...) {
      try run(connection, schema, limits, "bring the tables forward to format \(format)") {
        // Whoever else does this waits here, and finds it done.
        let row = try connection.run(
          "SELECT format FROM \(schema("store")) FOR UPDATE"
        ).first
        guard let row, row.integer(0) < format else { return }
        for statement in step.expansion(schema) { connection.queue(statement) }
        connection.queue("UPDATE \(schema("store")) SET format = $1", [.integer(format)])
      }
    }
  }

  /// Removes what older versions need, after which they refuse the store: a transaction for each
  /// format.
  ///
  /// - Throws: as ``expand(_:_:_:)``.
  func finish(
    _ connection: PostgreSQLConnection, _ schema: PostgreSQLSchema, _ limits: PostgreSQLLimits
  ) throws {
    for (step, format) in zip(steps, Int64(2)...) {
      try run(connection, schema, limits, "end the use of format \(format - 1)") {
        // Each transaction has read this table before all else, and so holds a lock on it until its
        // end: those of older versions are over now, and who comes later is refused.
        connection.queue("LOCK TABLE \(schema("store")) IN ACCESS EXCLUSIVE MODE")
        let row = try connection.run("SELECT oldest_format FROM \(schema("store"))").first
        guard let row, row.integer(0) < format else { return }
        for statement in step.contraction(schema) { connection.queue(statement) }
        connection.queue(
          "UPDATE \(schema("store")) SET oldest_format = $1", [.integer(format)])
      }
    }
  }

  private func run(
    _ connection: PostgreSQLConnection, _ schema: PostgreSQLSchema, _ limits: PostgreSQLLimits,
    _ what: String, _ body: () throws -> Void
  ) throws {
    var limits = limits
    // All who use a table wait behind whoever waits to change it.
    limits.lockTimeout = limits.migrationLockTimeout
    do {
      connection.begin(limits)
      try body()
      try connection.commit()
    } catch let error as PostgreSQLError where error.state == Self.lockNotAvailable {
      connection.rollBack()
      throw StoreError(
        .inUse,
        "the schema \(schema.name): could not \(what), because another session has held a lock on "
          + "one of its tables for \(limits.migrationLockTimeout.milliseconds) ms; nothing of it is done: "
          + "wait for that session or end it (pg_stat_activity names it), and try again")
    } catch {
      connection.rollBack()
      throw error
    }
  }

  /// - Source: https://www.postgresql.org/docs/15/errcodes-appendix.html
  private static let lockNotAvailable = "55P03"

  // MARK: - While a server runs

  /// An expression that fails once the tables need a newer format than is known. SQL raises no
  /// error of one's own, so a text that is no number has to become one.
  func check(in schema: PostgreSQLSchema) -> String {
    """
    (SELECT CASE WHEN oldest_format > \(format)
      THEN ('\(PostgreSQLError.formatMark)' || oldest_format)::bigint ELSE 0 END
    FROM \(schema("store")))
    """
  }
}

extension PostgreSQLError {
  fileprivate static let formatMark = "tern needs format "

  /// Of ``PostgreSQLMigrations/check(in:)``: an older version may not go on.
  var isOfFormat: Bool { state == "22P02" && message.contains(Self.formatMark) }
}

/// Which versions can use a store.
public struct PostgreSQLFormats: Hashable, Sendable {
  /// What the tables have.
  public let format: Int64
  /// The oldest that may use them. Versions that know only older ones refuse the store.
  public let oldest: Int64
  /// The newest that this version knows.
  public let known: Int64

  /// - Parameter needed: `nil` where that is not known.
  static func tooNew(_ schema: PostgreSQLSchema, needed: Int64?, known: Int64) -> StoreError {
    StoreError(
      .newerFormat,
      "the schema \(schema.name) needs \(needed.map { "format \($0) or newer" } ?? "a newer format"), "
        + "and this version of Tern knows up to \(known): 'tern store migrate --finish' has ended "
        + "its use; start a newer version in its place")
  }
}
#endif
