#if Server
import GRDB

/// The tables of a server's data file, format 9. A new file and one of an older format that was
/// brought forward are the same.
enum ServerSchema {
  /// Makes a store in an empty database.
  ///
  /// Done in the rollback journal's mode, so that the file's own header names its kind from the
  /// first commit on; the store turns on write-ahead logging afterwards.
  static func create(_ db: Database, epoch: String) throws {
    try createTables(db, format: ServerFile.formatVersion)
    try db.execute(sql: "INSERT INTO store (epoch) VALUES (?)", arguments: [epoch])
    try db.execute(sql: "PRAGMA application_id = \(ServerFile.applicationID)")
    try db.execute(sql: "PRAGMA user_version = \(ServerFile.formatVersion)")
  }

  /// Makes the tables of a format, empty.
  static func createTables(_ db: Database, format: Int32) throws {
    try db.execute(sql: tables)
    if format >= 2 { try db.execute(sql: snapshotTables) }
    if format >= 4 { try db.execute(sql: stateTable) }
    if format >= 5 { try db.execute(sql: checkColumns + quotaColumns) }
    if format >= 6 { try db.execute(sql: keepingColumns + authorTable) }
    if format >= 7 { try db.execute(sql: accessColumns) }
    if format >= 8 { try db.execute(sql: standingColumns) }
    if format >= 9 { try db.execute(sql: auditTable) }
  }

  /// Brings a store of an older format forward, in the caller's transaction.
  static func upgrade(_ db: Database) throws {
    let version = try Int32.fetchOne(db, sql: "PRAGMA user_version") ?? 0
    guard version < ServerFile.formatVersion else { return }
    // Format 2 has them.
    if version == 1 { try db.execute(sql: snapshotTables) }
    if version < 4 { try db.execute(sql: stateTable) }
    if version < 5 { try db.execute(sql: checkColumns + quotaColumns) }
    if version < 6 {
      try db.execute(sql: keepingColumns + authorTable)
      if version < 5 { try db.execute(sql: countBytes) }
      try db.execute(sql: releaseTrimmed)
      try db.execute(sql: countAuthors)
    }
    if version < 7 { try db.execute(sql: accessColumns) }
    if version < 8 { try db.execute(sql: standingColumns) }
    try db.execute(sql: auditTable)
    try db.execute(sql: "PRAGMA user_version = \(ServerFile.formatVersion)")
  }

  /// The bytes of an operation come last, so that reading the columns before them doesn't walk
  /// through overflow pages.
  private static let tables = """
    CREATE TABLE store (
      epoch TEXT NOT NULL
    ) STRICT;
    CREATE TABLE space (
      id INTEGER PRIMARY KEY,
      name TEXT NOT NULL UNIQUE,
      position INTEGER NOT NULL
    ) STRICT;
    CREATE TABLE operation (
      id INTEGER PRIMARY KEY,
      space INTEGER NOT NULL REFERENCES space (id),
      position INTEGER NOT NULL,
      author BLOB NOT NULL,
      sequence INTEGER NOT NULL,
      digest BLOB NOT NULL,
      chain BLOB NOT NULL,
      bytes BLOB NOT NULL,
      UNIQUE (space, position),
      UNIQUE (space, author, sequence)
    ) STRICT;
    CREATE TABLE head (
      space INTEGER NOT NULL REFERENCES space (id),
      author BLOB NOT NULL,
      sequence INTEGER NOT NULL,
      time INTEGER NOT NULL,
      continues INTEGER NOT NULL,
      PRIMARY KEY (space, author)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE token (
      digest BLOB PRIMARY KEY,
      space INTEGER NOT NULL REFERENCES space (id),
      created_ms INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    """

  /// What format 2 has more. A snapshot without a name was dropped, and its parts are being
  /// removed. A base's row among the operations has an author of zeros and its position, negative,
  /// for a sequence. From format 6 on a dropped one, and what stood on it, has an author of ones.
  private static let snapshotTables = """
    ALTER TABLE space ADD COLUMN trimmed INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE space ADD COLUMN emptied INTEGER NOT NULL DEFAULT 0;
    CREATE TABLE snapshot (
      id INTEGER PRIMARY KEY,
      space INTEGER NOT NULL REFERENCES space (id),
      name TEXT,
      cursor TEXT NOT NULL,
      position INTEGER NOT NULL,
      is_base INTEGER NOT NULL,
      is_complete INTEGER NOT NULL,
      parts INTEGER NOT NULL,
      bytes INTEGER NOT NULL,
      touched_ms INTEGER NOT NULL,
      heads BLOB NOT NULL,
      UNIQUE (space, name)
    ) STRICT;
    CREATE TABLE snapshot_part (
      id INTEGER PRIMARY KEY,
      snapshot INTEGER NOT NULL REFERENCES snapshot (id),
      part INTEGER NOT NULL,
      digest BLOB NOT NULL,
      bytes BLOB NOT NULL,
      UNIQUE (snapshot, part)
    ) STRICT;
    CREATE TABLE lease (
      space INTEGER NOT NULL REFERENCES space (id),
      replica BLOB NOT NULL,
      position INTEGER NOT NULL,
      at_ms INTEGER NOT NULL,
      PRIMARY KEY (space, replica)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE mark (
      space INTEGER NOT NULL REFERENCES space (id),
      position INTEGER NOT NULL,
      at_ms INTEGER NOT NULL,
      PRIMARY KEY (space, position)
    ) STRICT, WITHOUT ROWID;
    """

  /// What format 5 has more. The whole snapshots of before count as checked.
  private static let checkColumns = """
    ALTER TABLE snapshot ADD COLUMN refusal TEXT;
    ALTER TABLE snapshot ADD COLUMN schema TEXT;
    """

  /// What format 4 has more: the last report of a space.
  private static let stateTable = """
    CREATE TABLE state (
      space INTEGER PRIMARY KEY REFERENCES space (id),
      position INTEGER NOT NULL,
      at_ms INTEGER NOT NULL,
      is_disputed INTEGER NOT NULL,
      report BLOB NOT NULL
    ) STRICT;
    """

  /// What format 5 has more: the bytes that each space stores, of operations and of parts, and what
  /// an operator lets it store. A removed space, of which rows are left, has a name with a dot.
  private static let quotaColumns = """
    ALTER TABLE space ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE space ADD COLUMN quota_bytes INTEGER;
    ALTER TABLE space ADD COLUMN quota_operations INTEGER;
    """

  /// What format 6 has more: whose tokens and replica ids are. Nobody has claimed those of before.
  /// Who brought something is a member's name, '' for a token that names none, NULL for several. A
  /// head says what of its author's operations is not released.
  private static let authorTable = """
    ALTER TABLE token ADD COLUMN member TEXT;
    ALTER TABLE space ADD COLUMN quota_authors INTEGER;
    ALTER TABLE space ADD COLUMN quota_share INTEGER;
    ALTER TABLE head ADD COLUMN operations INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE head ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0;
    CREATE INDEX token_space ON token (space, member);
    CREATE TABLE author (
      space INTEGER NOT NULL REFERENCES space (id),
      replica BLOB NOT NULL,
      member TEXT,
      brought_by TEXT,
      brought_first INTEGER,
      brought_last INTEGER,
      admitted INTEGER,
      banned_after INTEGER,
      PRIMARY KEY (space, replica)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX author_banned ON author (space) WHERE banned_after IS NOT NULL;
    """

  /// What format 6 has more: until when a space takes bases, and trims nothing; and of what was
  /// trimmed or gave way, how much can be brought back and since when. What is released of that
  /// counts no more. A dropped snapshot that can be brought back has the name that it had.
  private static let keepingColumns = """
    ALTER TABLE space ADD COLUMN refill_ms INTEGER;
    ALTER TABLE space ADD COLUMN untrimmed_ms INTEGER;
    ALTER TABLE space ADD COLUMN released INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE space ADD COLUMN kept_bytes INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE snapshot ADD COLUMN dropped_name TEXT;
    ALTER TABLE snapshot ADD COLUMN dropped_ms INTEGER;
    CREATE TABLE trim_mark (
      space INTEGER NOT NULL REFERENCES space (id),
      position INTEGER NOT NULL,
      at_ms INTEGER NOT NULL,
      PRIMARY KEY (space, position)
    ) STRICT, WITHOUT ROWID;
    """

  /// What format 7 has more: until when a token opens its space, and what an operator calls it; and
  /// since when a space takes nothing. The tokens of before stay until they are revoked.
  private static let accessColumns = """
    ALTER TABLE token ADD COLUMN label TEXT;
    ALTER TABLE token ADD COLUMN expires_ms INTEGER;
    ALTER TABLE space ADD COLUMN suspended_ms INTEGER;
    """

  /// What format 8 has more: of a space that came from another store its epoch, how far a move is
  /// that was begun, and the epoch of the other store. Without an epoch it has the file's.
  private static let standingColumns = """
    ALTER TABLE space ADD COLUMN epoch TEXT;
    ALTER TABLE space ADD COLUMN phase INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE space ADD COLUMN peer TEXT;
    """

  /// What format 9 has more: what operators changed. A space is named, as its records outlive it.
  private static let auditTable = """
    CREATE TABLE audit (
      number INTEGER PRIMARY KEY,
      at_ms INTEGER NOT NULL,
      actor TEXT NOT NULL,
      action TEXT NOT NULL,
      space TEXT NOT NULL,
      details TEXT NOT NULL
    ) STRICT;
    CREATE INDEX audit_space ON audit (space, number);
    """

  /// Nothing was kept before. What was trimmed and still had its bytes is counted by maintenance.
  private static let releaseTrimmed = """
    UPDATE space SET released = emptied
    """

  /// Counts what each author stored before. The lengths alone are read.
  private static let countAuthors = """
    UPDATE head SET operations = stored.count, bytes = stored.length
    FROM (
      SELECT space, author, count(*) AS count, sum(length(bytes)) AS length FROM operation
      WHERE sequence > 0
        AND position > (SELECT released FROM space WHERE space.id = operation.space)
      GROUP BY space, author
    ) AS stored
    WHERE head.space = stored.space AND head.author = stored.author
    """

  /// Counts what a space stored before its bytes were kept.
  private static let countBytes = """
    UPDATE space SET bytes = \(storedBytes)
    """

  /// What ``SpaceUsage/bytes`` of a row of `space` has to be. The lengths alone are read.
  static let storedBytes = bytes(
    ofOperations: "> space.released", ofSnapshots: "dropped_ms IS NULL")

  /// The same of ``SpaceUsage/keptBytes``.
  static let keptBytes = bytes(
    ofOperations: "<= space.released", ofSnapshots: "dropped_ms IS NOT NULL")

  /// What format 5 counts.
  static let allBytes = bytes(ofOperations: "> 0", ofSnapshots: "1")

  private static func bytes(ofOperations place: String, ofSnapshots condition: String) -> String {
    """
    (SELECT ifnull(sum(length(operation.bytes)), 0) FROM operation
     WHERE space = space.id AND operation.position \(place))
      + (SELECT ifnull(sum(length(snapshot_part.bytes)), 0) FROM snapshot_part
         WHERE snapshot IN (SELECT id FROM snapshot WHERE space = space.id AND \(condition)))
    """
  }
}
#endif
