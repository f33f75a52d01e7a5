import GRDB
import Synchronization
import TernDatabase

/// The app's triggers as one committed schema has them: to read and classify them costs as much as
/// merging several rows.
final class KnownTriggers: Sendable {
  private struct Schema: Hashable {
    var main: Int64
    var temporary: Int64

    /// SQLite's numbers, which grow with every change.
    init(_ db: Database) throws {
      (main, temporary) = (try Self.version("main", db), try Self.version("temp", db))
    }

    private static func version(_ schema: String, _ db: Database) throws -> Int64 {
      let version = try FastStatement(db, "PRAGMA \(schema).schema_version")
      defer { version.reset() }
      return try version.step() ? version.int64(0) : 0
    }
  }

  private let last = Mutex<(schema: Schema, triggers: AppTriggers)?>(nil)

  /// - Parameter db: in a transaction that has changed no schema, since a rolled back number comes
  ///   again for another one. Where there are unsafe triggers a merge changes the temporary schema,
  ///   and so nothing is remembered.
  func triggers(_ db: Database, or read: () throws -> AppTriggers) throws -> AppTriggers {
    let schema = try Schema(db)
    if let known = last.withLock({ $0?.schema == schema ? $0?.triggers : nil }) { return known }
    let triggers = try read()
    if triggers.unsafe.isEmpty { last.withLock { $0 = (schema, triggers) } }
    return triggers
  }
}
