import Foundation
import GRDB
import Synchronization
import Tern

/// A library whose keys are integers, with a reference of every kind.
let integerLibrary = """
  CREATE TABLE author (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE);
  CREATE TABLE book (
    id INTEGER PRIMARY KEY, title TEXT, sequel_of INTEGER REFERENCES book(id) ON DELETE SET NULL,
    kind TEXT NOT NULL DEFAULT 'paper', UNIQUE (id, kind));
  CREATE TABLE book_author (
    book_id INTEGER NOT NULL REFERENCES book ON DELETE CASCADE ON UPDATE CASCADE,
    author_id INTEGER NOT NULL REFERENCES author (id) ON DELETE RESTRICT,
    PRIMARY KEY (book_id, author_id)) WITHOUT ROWID;
  CREATE TABLE credit (
    n INTEGER PRIMARY KEY AUTOINCREMENT, book INTEGER, author INTEGER, role TEXT,
    FOREIGN KEY (book, author) REFERENCES book_author (book_id, author_id)
      DEFERRABLE INITIALLY DEFERRED);
  CREATE TABLE cover (book_id INTEGER PRIMARY KEY REFERENCES book(id), color TEXT);
  CREATE TABLE scan (cover INT REFERENCES cover, kind TEXT, book INTEGER, FOREIGN KEY (book, kind)
    REFERENCES book (id, kind) ON UPDATE SET DEFAULT);
  CREATE TABLE visit (at TEXT, book_number BIGINT);
  INSERT INTO author VALUES (3, 'Herbert'), (5, 'Austen');
  INSERT INTO book VALUES (10, 'Dune', NULL, 'paper'), (11, 'Messiah', 10, 'audio'),
    (-4, 'Emma', -4, 'paper');
  INSERT INTO book_author VALUES (10, 3), (11, 3), (-4, 5);
  INSERT INTO credit VALUES (1, 10, 3, 'text'), (9, -4, 5, 'text'), (10, NULL, NULL, 'nobody');
  DELETE FROM credit WHERE n = 10;
  INSERT INTO cover VALUES (11, 'sand'), (-4, 'green');
  INSERT INTO scan VALUES (11, 'audio', 11), (NULL, NULL, NULL), (NULL, 'paper', 10);
  INSERT INTO visit VALUES ('monday', 10), ('tuesday', -4), ('tuesday', NULL);
  """

/// What the library says, without its keys.
let libraryContent = [
  "SELECT title, (SELECT title FROM book b WHERE b.id = a.sequel_of) FROM book a ORDER BY 1",
  """
  SELECT title, name, role FROM book JOIN book_author ON book_id = book.id
  JOIN author ON author.id = author_id
  LEFT JOIN credit ON credit.book = book.id AND credit.author = author.id ORDER BY 1
  """,
  "SELECT n, role FROM credit ORDER BY n",
  "SELECT title, color FROM book JOIN cover ON book_id = id ORDER BY 1",
  "SELECT color, title FROM scan LEFT JOIN cover ON cover = book_id "
    + "LEFT JOIN book ON book.id = book "
    + "ORDER BY 1, 2",
  "SELECT at, title FROM visit LEFT JOIN book ON id = book_number ORDER BY 1, 2",
]

extension DatabaseReader {
  func lines(_ sql: String) throws -> [String] {
    try read { db in
      try Row.fetchAll(db, sql: sql).map { row in
        row.databaseValues.map(\.description).joined(separator: "|")
      }
    }
  }

  /// Every object's declaration and every table's rows.
  func dump() throws -> [String] {
    try read { db in
      let schema = try Row.fetchAll(
        db, sql: "SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY type, name")
      let tables = schema.filter { $0["type"] == "table" }.map { $0["name"] as String }
      let rows = try tables.flatMap { table in
        try Row.fetchAll(db, sql: "SELECT * FROM \"\(table)\"").map { "\(table): \($0)" }
      }
      return schema.map(\.description) + rows
    }
  }

  func declaration(_ name: String) throws -> String? {
    try read { db in
      try String.fetchOne(
        db, sql: "SELECT sql FROM sqlite_master WHERE name = ?", arguments: [name])
    }
  }
}

/// Counts up, so that identifiers are known and in order.
func countingIdentifiers() -> RekeyIdentifiers {
  let count = Mutex<UInt8>(0)
  return RekeyIdentifiers.random.drawing {
    let number = count.withLock { count in
      count += 1
      return count
    }
    return UUID(uuid: (0, 0, 0, 0, 0, 0, 0x40, 0, 0x80, 0, 0, 0, 0, 0, 0, number))
  }
}

func queue(_ sql: String) throws -> DatabaseQueue {
  let database = try DatabaseQueue()
  try database.write { try $0.execute(sql: sql) }
  return database
}
