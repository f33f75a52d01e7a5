import GRDB
import TernDatabase

/// Whether another connection, of this process or of another, committed since the last seal.
///
/// GRDB's observers hear of what their own connection writes, and of nothing else. SQLite counts
/// for each connection the commits of all others, so that nobody has to look at rows. Used on the
/// writer's queue alone.
final class OtherWriters {
  private let statements: StatementMemory
  /// SQLite's number at the last seal that was committed, or at the opening.
  private var sealed: Int64
  /// At the seal of the transaction that is open.
  private var seen: Int64?

  init(_ statements: StatementMemory, opened: Int64) {
    (self.statements, sealed) = (statements, opened)
  }

  /// To be called as a transaction begins: the last one may have been rolled back.
  func begin() { seen = nil }

  /// To be called behind its commit.
  func commit() { sealed = seen ?? sealed }

  func haveWritten(_ db: Database) throws -> Bool {
    let version = try statements.statement(db, "PRAGMA main.data_version")
    defer { version.reset() }
    _ = try version.step()
    seen = version.int64(0)
    return seen != sealed
  }
}
