#if Server
import GRDB

/// The tables of a server's data file, format 1.
enum ServerSchema {
  /// Makes a store in an empty database.
  ///
  /// Done in the rollback journal's mode, so that the file's own header names its kind from the
  /// first commit on; the store turns on write-ahead logging afterwards.
  static func create(_ db: Database, epoch: String) throws {
    try db.execute(sql: tables)
    try db.execute(sql: "INSERT INTO store (epoch) VALUES (?)", arguments: [epoch])
    try db.execute(sql: "PRAGMA application_id = \(ServerFile.applicationID)")
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
}
#endif
