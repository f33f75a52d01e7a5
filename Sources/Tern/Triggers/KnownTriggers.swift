import GRDB
import Synchronization
import TernCore
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

    static func version(_ schema: String, _ db: Database) throws -> Int64 {
      let version = try FastStatement(db, "PRAGMA \(schema).schema_version")
      defer { version.reset() }
      return try version.step() ? version.int64(0) : 0
    }
  }

  private struct Memory {
    var last: (schema: Schema, triggers: AppTriggers)?
    /// Those that don't run, and the number of the schema in the file that had them.
    var skipped: (main: Int64, triggers: [SkippedTrigger])?
  }

  private let memory = Mutex(Memory())

  /// - Parameter db: in a transaction that has changed no schema, since a rolled back number comes
  ///   again for another one. Where there are unsafe triggers a merge changes the temporary schema,
  ///   and so nothing is remembered.
  func triggers(_ db: Database, or read: () throws -> AppTriggers) throws -> AppTriggers {
    let schema = try Schema(db)
    if Planted.isActive(.triggersKnownOld), let known = memory.withLock(\.last) {
      return known.triggers
    }
    if let known = memory.withLock({ $0.last?.schema == schema ? $0.last?.triggers : nil }) {
      return known
    }
    let triggers = try read()
    memory.withLock { memory in
      if triggers.unsafe.isEmpty { memory.last = (schema, triggers) }
      memory.skipped = (schema.main, triggers.skipped)
    }
    return triggers
  }

  /// Those that don't run in merges: as the last merge found them, which knows the temporary ones
  /// too, or as they are read once for each schema of the file.
  func skipped(_ db: Database, or read: () throws -> AppTriggers) throws -> [SkippedTrigger] {
    let main = try Schema.version("main", db)
    let known = memory.withLock { $0.skipped?.main == main ? $0.skipped?.triggers : nil }
    if let known { return known }
    let skipped = try read().skipped
    memory.withLock { $0.skipped = (main, skipped) }
    return skipped
  }
}
