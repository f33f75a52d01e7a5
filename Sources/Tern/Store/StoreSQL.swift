import TernCore

/// The statements of every seal and merge, written once instead of each time. Simple ones: a merge
/// switches foreign keys off, and SQLite then prepares them all again.
final class StoreSQL: Sendable {
  let readReplica: String
  let readAuthors: String
  let saveClock: String
  let readAuthor: String
  let saveAuthor: String
  let saveOwn: String
  let unannounced: String
  let appendToLog: String
  let anyHeld: String
  let noteUnsettled: String
  let isUnsettled: String
  let forgetUnsettled: String
  let wake: String
  let wakeAll: String
  let wakeRefused: String
  let settleOthers: String
  let wakeFurther: String
  let anyUnsettledRow: String
  let settleRow: String
  let forgetWaits: String
  let addWait: String
  let rare: RareTables

  init(prefix: String, waiting: String) {
    rare = RareTables(prefix: prefix)
    readReplica = """
      SELECT last_time, schema_version, correction_ms, EXISTS (SELECT 1 FROM \(prefix)large),
        EXISTS (SELECT 1 FROM \(waiting) WHERE due_ms IS NOT NULL),
        EXISTS (SELECT 1 FROM \(waiting) WHERE reason <> 'schema'), format
      FROM \(prefix)replica
      """
    readAuthors = """
      SELECT id, stored, merged, time, trimmed, trimmed_time FROM \(prefix)author ORDER BY idx
      """
    saveClock = "UPDATE \(prefix)replica SET last_time = ?, correction_ms = ?"
    readAuthor = """
      SELECT stored, merged, time, trimmed, trimmed_time FROM \(prefix)author WHERE idx = ?
      """
    saveAuthor = """
      INSERT INTO \(prefix)author (idx, id, stored, merged, announced, time)
      VALUES (?1, ?2, ?3, ?4, 0, ?5) ON CONFLICT (idx)
      DO UPDATE SET stored = excluded.stored, merged = excluded.merged, time = excluded.time
      """
    // Its row stands there from the beginning.
    saveOwn = "UPDATE \(prefix)author SET stored = ?, merged = ?, time = ? WHERE idx = 0"
    unannounced = """
      SELECT idx, merged FROM \(prefix)author WHERE idx > 0 AND merged > announced
      ORDER BY idx LIMIT \(SyncOperation.Limit.seen)
      """
    appendToLog = "INSERT INTO \(prefix)log (id, bytes) VALUES (?, ?)"
    anyHeld = "SELECT 1 FROM \(prefix)held LIMIT 1"
    noteUnsettled = "INSERT OR IGNORE INTO \(prefix)unsettled VALUES (1)"
    isUnsettled = "SELECT 1 FROM \(prefix)unsettled"
    // By its key: without, SQLite would write the page of a table that is empty.
    forgetUnsettled = "DELETE FROM \(prefix)unsettled WHERE one = 1"
    let (held, waits, row) = ("\(prefix)held", "\(prefix)waits", "\(prefix)unsettled_row")
    wake = """
      INSERT OR IGNORE INTO \(row) SELECT tbl, key FROM \(waits) WHERE on_tbl = ?1 AND on_key = ?2
      UNION ALL SELECT tbl, key FROM \(held) WHERE tbl = ?1 AND key = ?2
      """
    wakeAll = """
      INSERT OR IGNORE INTO \(row) SELECT tbl, key FROM \(held)
      WHERE tbl IN (SELECT id FROM \(prefix)table WHERE is_synced)
      """
    wakeRefused =
      wakeAll + " AND reason IN ('\(HeldReason.constraint)', '\(HeldReason.removal)')"
    settleOthers = """
      DELETE FROM \(row) WHERE tbl NOT IN (SELECT id FROM \(prefix)table WHERE is_synced)
      """
    wakeFurther = """
      INSERT OR IGNORE INTO \(row) WITH RECURSIVE further (tbl, key) AS (
        SELECT tbl, key FROM \(row) UNION
        SELECT w.tbl, w.key FROM further AS f JOIN \(waits) AS w ON w.on_tbl = f.tbl AND w.on_key = f.key)
      SELECT tbl, key FROM further
      """
    anyUnsettledRow = "SELECT 1 FROM \(row) LIMIT 1"
    settleRow = "DELETE FROM \(row) WHERE tbl = ? AND key = ?"
    forgetWaits = "DELETE FROM \(waits) WHERE tbl = ? AND key = ?"
    addWait = "INSERT OR IGNORE INTO \(waits) VALUES (?, ?, ?, ?)"
  }
}
