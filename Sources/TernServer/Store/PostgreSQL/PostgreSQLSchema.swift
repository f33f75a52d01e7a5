#if PostgreSQL
/// The tables of a store on PostgreSQL in format 1, from which ``PostgreSQLMigrations`` lead on.
/// They are those of a data file, but that an operation's bytes are in a table of their own. What
/// is trimmed leaves that by DELETE, and the rows that stay for ever are never written again.
struct PostgreSQLSchema {
  /// The schema in which they are.
  let name: String

  /// The name of a table in SQL.
  func callAsFunction(_ table: String) -> String { "\(quoted).\(table)" }

  var quoted: String { "\"\(name.replacing("\"", with: "\"\""))\"" }

  /// Every table, each after those that it refers to.
  var statements: [String] {
    [store, space, operation, operationBytes, head, token, tokenIndex, snapshot, snapshotPart]
      + [lease, mark("mark"), mark("trim_mark"), state, author, bannedIndex, audit, auditIndex]
      // Compressed already by whoever sends them.
      + ["operation_bytes", "snapshot_part"].map {
        "ALTER TABLE \(self($0)) ALTER bytes SET STORAGE EXTERNAL"
      }
  }

  /// Who writes an audit record locks the row until its commit, so that numbers are in the order of
  /// commits and have no gap.
  private var store: String {
    """
    CREATE TABLE \(self("store")) (
      one boolean PRIMARY KEY DEFAULT true CHECK (one),
      epoch text NOT NULL, format bigint NOT NULL, oldest_format bigint NOT NULL,
      audited bigint NOT NULL DEFAULT 0)
    """
  }

  /// What is written in place at each push has room on its page.
  private static let inPlace = "WITH (fillfactor = 50)"

  private var ofSpace: String { "bigint NOT NULL REFERENCES \(self("space")) (id)" }

  private var space: String {
    """
    CREATE TABLE \(self("space")) (
      id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      name text COLLATE "C" NOT NULL UNIQUE,
      position bigint NOT NULL DEFAULT 0,
      trimmed bigint NOT NULL DEFAULT 0, released bigint NOT NULL DEFAULT 0,
      emptied bigint NOT NULL DEFAULT 0,
      bytes bigint NOT NULL DEFAULT 0, kept_bytes bigint NOT NULL DEFAULT 0,
      quota_bytes bigint, quota_operations bigint, quota_authors bigint, quota_share bigint,
      refill_ms bigint, untrimmed_ms bigint, suspended_ms bigint,
      epoch text, phase bigint NOT NULL DEFAULT 0, peer text) \(Self.inPlace)
    """
  }

  /// A base has an author of zeros and its position, negative, for a sequence; what was passed has
  /// an author of ones.
  ///
  /// No reference to the space: whoever writes here has the space's row locked, and a look at it
  /// for every row took a third of the database's time.
  private var operation: String {
    """
    CREATE TABLE \(self("operation")) (
      space bigint NOT NULL, position bigint NOT NULL,
      author bytea NOT NULL, sequence bigint NOT NULL,
      digest bytea NOT NULL, chain bytea NOT NULL,
      PRIMARY KEY (space, position), UNIQUE (space, author, sequence))
    """
  }

  /// As of ``operation``.
  private var operationBytes: String {
    """
    CREATE TABLE \(self("operation_bytes")) (
      space bigint NOT NULL, position bigint NOT NULL, bytes bytea NOT NULL,
      PRIMARY KEY (space, position))
    """
  }

  private var head: String {
    """
    CREATE TABLE \(self("head")) (
      space \(ofSpace), author bytea NOT NULL, sequence bigint NOT NULL, time bigint NOT NULL,
      continues bigint NOT NULL, operations bigint NOT NULL, bytes bigint NOT NULL,
      PRIMARY KEY (space, author)) \(Self.inPlace)
    """
  }

  private var token: String {
    """
    CREATE TABLE \(self("token")) (
      digest bytea PRIMARY KEY, space \(ofSpace), created_ms bigint NOT NULL,
      member text COLLATE "C", label text, expires_ms bigint)
    """
  }

  private var tokenIndex: String {
    "CREATE INDEX token_space ON \(self("token")) (space, member)"
  }

  private var snapshot: String {
    """
    CREATE TABLE \(self("snapshot")) (
      id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, space \(ofSpace),
      name text COLLATE "C", cursor text NOT NULL, position bigint NOT NULL,
      is_base bigint NOT NULL, is_complete bigint NOT NULL, parts bigint NOT NULL,
      bytes bigint NOT NULL, touched_ms bigint NOT NULL, refusal text, schema text,
      heads bytea NOT NULL, dropped_name text, dropped_ms bigint,
      UNIQUE (space, name))
    """
  }

  private var snapshotPart: String {
    """
    CREATE TABLE \(self("snapshot_part")) (
      snapshot bigint NOT NULL REFERENCES \(self("snapshot")) (id), part bigint NOT NULL,
      digest bytea NOT NULL, bytes bytea NOT NULL, PRIMARY KEY (snapshot, part))
    """
  }

  private var lease: String {
    """
    CREATE TABLE \(self("lease")) (
      space \(ofSpace), replica bytea NOT NULL, position bigint NOT NULL, at_ms bigint NOT NULL,
      PRIMARY KEY (space, replica)) \(Self.inPlace)
    """
  }

  private func mark(_ table: String) -> String {
    """
    CREATE TABLE \(self(table)) (
      space \(ofSpace), position bigint NOT NULL, at_ms bigint NOT NULL,
      PRIMARY KEY (space, position))
    """
  }

  private var state: String {
    """
    CREATE TABLE \(self("state")) (
      space bigint PRIMARY KEY REFERENCES \(self("space")) (id), position bigint NOT NULL,
      at_ms bigint NOT NULL, is_disputed bigint NOT NULL, report bytea NOT NULL)
    """
  }

  private var author: String {
    """
    CREATE TABLE \(self("author")) (
      space \(ofSpace), replica bytea NOT NULL, member text COLLATE "C",
      brought_by text COLLATE "C", brought_first bigint, brought_last bigint, admitted bigint,
      banned_after bigint, PRIMARY KEY (space, replica)) \(Self.inPlace)
    """
  }

  private var bannedIndex: String {
    "CREATE INDEX author_banned ON \(self("author")) (space) WHERE banned_after IS NOT NULL"
  }

  private var audit: String {
    """
    CREATE TABLE \(self("audit")) (
      number bigint PRIMARY KEY, at_ms bigint NOT NULL, actor text NOT NULL, action text NOT NULL,
      space text COLLATE "C" NOT NULL, details text NOT NULL)
    """
  }

  private var auditIndex: String {
    "CREATE INDEX audit_space ON \(self("audit")) (space, number)"
  }
}
#endif
