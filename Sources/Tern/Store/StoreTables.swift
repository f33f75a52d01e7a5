import GRDB
import TernCore
import TernDatabase

/// The tables that a replica keeps in the app's database, beside one note table and one row table
/// for each synced table (``NoteSQL``).
struct StoreTables {
  static let format = 8
  static let commonPrefix = "grdb_tern_"

  /// `grdb_tern_` and the replica's name.
  let prefix: String
  let statements: StoreSQL
  /// As the file has it: an earlier one where it is read and was not opened since.
  let format: Int

  /// What is in the log and not in the state: a table, or in an earlier format what reads as one.
  let waiting: String

  /// SQLite's names have no case, so neither has a replica's.
  init(name: String, format: Int = Self.format) {
    self.format = format
    prefix = "\(Self.commonPrefix)\(name.folded)_"
    waiting = format < 6 ? Self.waitingOfFormat5(prefix) : prefix + "waiting"
    statements = StoreSQL(prefix: prefix, waiting: waiting)
  }

  /// Those that come with their first row.
  var rare: RareTables { statements.rare }

  var replica: String { prefix + "replica" }
  var author: String { prefix + "author" }
  var table: String { prefix + "table" }
  var column: String { prefix + "column" }
  var log: String { prefix + "log" }
  var held: String { prefix + "held" }
  var kept: String { prefix + "kept" }
  var large: String { prefix + "large" }
  var splice: String { prefix + "splice" }
  var remote: String { prefix + "remote" }
  var offer: String { prefix + "offer" }
  var remoteAuthors: String { prefix + "remote_authors" }
  var remoteHead: String { prefix + "remote_head" }
  var fork: String { prefix + "fork" }
  var toldFork: String { prefix + "told_fork" }
  var toldChange: String { prefix + "told_change" }
  var seen: String { prefix + "seen" }
  var conflict: String { prefix + "conflict" }
  var inbox: String { prefix + "inbox" }
  var dismissed: String { prefix + "dismissed" }
  var undone: String { prefix + "undone" }
  var reverted: String { prefix + "reverted" }
  var migrated: String { prefix + "migrated" }
  var unsettled: String { prefix + "unsettled" }
  /// Of rows that the next settlement looks at with their children: parents that went, as its name
  /// says, and rows that a seal found without one.
  var goneParent: String { prefix + "gone_parent" }
  /// See ``GoneParentTable``.
  var goneLocal: String { prefix + "gone_local" }
  /// See ``Settlement/settleHeld()``.
  var waits: String { prefix + "waits" }
  var unsettledRow: String { prefix + "unsettled_row" }
  /// See ``VeilTable``.
  var veil: String { prefix + "veil" }
  var forgotten: String { prefix + "forgotten" }
  var opened: String { prefix + "opened" }
  /// See ``FailedTriggerTable``.
  var failedTriggers: String { prefix + "failed_trigger" }
  /// Only from the lifting of the triggers on until they are back.
  var lifted: String { prefix + "lifted" }

  func notes(of table: Int64) -> String { "\(prefix)note_\(table)" }
  func rows(of table: Int64) -> String { "\(prefix)row_\(table)" }

  /// Tables that came after format 5 was settled: a file that was not opened since lacks them.
  var later: Set<String> {
    if format >= 6 { return [] }
    return [unsettled, opened, prefix + "waiting"]
  }

  /// What every file has, a statement a table. `log.id` is the author's index shifted by 40 bits,
  /// plus the sequence.
  var creation: [String] {
    [
      """
      CREATE TABLE IF NOT EXISTS \(replica) (
        one INTEGER PRIMARY KEY CHECK (one = 1), format INTEGER NOT NULL, id BLOB NOT NULL,
        last_time INTEGER NOT NULL, schema_version INTEGER NOT NULL, correction_ms INTEGER NOT NULL)
      """,
      """
      CREATE TABLE IF NOT EXISTS \(author) (
        idx INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE, stored INTEGER NOT NULL,
        merged INTEGER NOT NULL, announced INTEGER NOT NULL, time INTEGER NOT NULL,
        trimmed INTEGER NOT NULL DEFAULT 0, trimmed_time INTEGER NOT NULL DEFAULT 0)
      """,
      """
      CREATE TABLE IF NOT EXISTS \(table) (
        id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE COLLATE NOCASE, key TEXT NOT NULL,
        deletes INTEGER NOT NULL, is_synced INTEGER NOT NULL)
      """,
      """
      CREATE TABLE IF NOT EXISTS \(column) (
        tbl INTEGER NOT NULL, id INTEGER NOT NULL, name TEXT NOT NULL COLLATE NOCASE,
        rule INTEGER NOT NULL, is_present INTEGER NOT NULL, PRIMARY KEY (tbl, id)) WITHOUT ROWID
      """,
      "CREATE TABLE IF NOT EXISTS \(log) (id INTEGER PRIMARY KEY, bytes BLOB NOT NULL)",
      """
      CREATE TABLE IF NOT EXISTS \(held) (
        tbl INTEGER NOT NULL, key BLOB NOT NULL, reason TEXT NOT NULL, content BLOB NOT NULL,
        PRIMARY KEY (tbl, key)) WITHOUT ROWID
      """,
      // To count them without reading their contents.
      "CREATE INDEX IF NOT EXISTS \(held)_table ON \(held) (tbl)",
      // `id` is that of a group's last operation, and `first` the sequence of its first; `due_ms`
      // is when this clock will have come near its time. Of an operation that waits for another
      // schema there is a row for each of these parts, without a column where it is all of a table.
      """
      CREATE TABLE IF NOT EXISTS \(prefix)waiting (
        id INTEGER NOT NULL, tbl TEXT NOT NULL, col TEXT NOT NULL, first INTEGER NOT NULL,
        reason TEXT NOT NULL, detail TEXT NOT NULL DEFAULT '', due_ms INTEGER,
        PRIMARY KEY (id, tbl, col)) WITHOUT ROWID
      """,
      """
      CREATE INDEX IF NOT EXISTS \(prefix)waiting_group ON \(prefix)waiting (id, first, reason)
      WHERE reason <> 'schema'
      """,
      """
      CREATE INDEX IF NOT EXISTS \(prefix)waiting_due ON \(prefix)waiting (due_ms)
      WHERE due_ms IS NOT NULL
      """,
      """
      CREATE TABLE IF NOT EXISTS \(large) (
        tbl INTEGER NOT NULL, key BLOB NOT NULL, masks BLOB NOT NULL, PRIMARY KEY (tbl, key)
      ) WITHOUT ROWID
      """,
      // `compared` is what came of the last comparison of states, as JSON.
      """
      CREATE TABLE IF NOT EXISTS \(remote) (
        id TEXT PRIMARY KEY, epoch TEXT NOT NULL, cursor TEXT, compared BLOB) WITHOUT ROWID
      """,
      // Own operations up to `sequence` may be at the remote, whatever became of the push; those up
      // to `accepted` were.
      """
      CREATE TABLE IF NOT EXISTS \(offer) (
        remote TEXT PRIMARY KEY, sequence INTEGER NOT NULL, accepted INTEGER NOT NULL DEFAULT 0)
      WITHOUT ROWID
      """,
      """
      CREATE TABLE IF NOT EXISTS \(seen) (
        author INTEGER NOT NULL, other INTEGER NOT NULL, sequence INTEGER NOT NULL,
        PRIMARY KEY (author, other)) WITHOUT ROWID
      """,
      // A row, while what was sealed may be what a quarantined row waits for, and nobody looked.
      "CREATE TABLE IF NOT EXISTS \(unsettled) (one INTEGER PRIMARY KEY CHECK (one = 1))",
      // A checksum of the app's schema and of the replica's when the replica was last opened.
      """
      CREATE TABLE IF NOT EXISTS \(opened) (
        one INTEGER PRIMARY KEY CHECK (one = 1), migrated INTEGER NOT NULL)
      """,
      // Values that lost, by column name; authors by their index.
      """
      CREATE TABLE IF NOT EXISTS \(inbox) (
        id INTEGER PRIMARY KEY, tbl INTEGER NOT NULL, key BLOB NOT NULL, kind TEXT NOT NULL,
        content BLOB NOT NULL, loser INTEGER NOT NULL, loser_time INTEGER NOT NULL,
        winner INTEGER NOT NULL, winner_time INTEGER NOT NULL, found_ms INTEGER NOT NULL)
      """,
      """
      CREATE TABLE IF NOT EXISTS \(conflict) (
        kind TEXT PRIMARY KEY, count INTEGER NOT NULL) WITHOUT ROWID
      """,
    ]
  }
}

/// A log row's key: the author's index, then the sequence number in 40 bits.
struct LogID: Hashable {
  let rawValue: Int64

  static let sequenceMask = Int64(VersionVector.maximumSequence)

  init(author: UInt32, sequence: UInt64) {
    rawValue = Int64(author) << 40 | Int64(sequence)
  }

  init(rawValue: Int64) {
    self.rawValue = rawValue
  }

  var author: UInt32 { UInt32(rawValue >> 40) }
  var sequence: UInt64 { UInt64(rawValue) & VersionVector.maximumSequence }
}

extension StoreTables {
  /// The names of the replicas that a database has tables of.
  static func replicas(in db: Database) throws -> [String] {
    let suffix = "_replica"
    return try String.fetchAll(
      db, sql: "SELECT name FROM sqlite_master WHERE type = 'table' AND name GLOB ? ORDER BY name",
      arguments: ["\(commonPrefix)*\(suffix)"]
    ).map { String($0.dropFirst(commonPrefix.count).dropLast(suffix.count)) }
  }

  /// Whether the triggers were lifted and are not back, as far as anybody's opening knows: while a
  /// migration runs, and where the process died in one.
  func areTriggersLifted(_ db: Database) throws -> Bool {
    try db.hasTable(lifted)
  }

  /// That the tables are gone, where that is why SQLite could not read a statement.
  func reason(for error: DatabaseError, in db: Database) throws -> any Error {
    guard try db.tableExists(replica, in: "main") else { return ReplicaError.notInstalled }
    let format =
      try Int.fetchOne(db, sql: "SELECT CAST(format AS INTEGER) FROM main.\(replica)") ?? 0
    return format > self.format ? ReplicaError.newerFormat(format) : error
  }

  /// Whose row of the table of authors it is, by the first column.
  func author(in statement: FastStatement) throws -> ReplicaID {
    guard let id = ReplicaID(bytes: statement.blob(0)) else {
      throw ReplicaError(.damaged, "table \(author) holds an id that is none")
    }
    return id
  }
}
