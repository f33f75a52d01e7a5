import Tern
import TestDevice

/// A full-text index of books' titles, kept by triggers.
let bookSearch = """
  CREATE VIRTUAL TABLE search USING fts5(title, content='book', content_rowid='rowid');
  CREATE TRIGGER search_insert AFTER INSERT ON book BEGIN
    INSERT INTO search (rowid, title) VALUES (NEW.rowid, NEW.title);
  END;
  CREATE TRIGGER search_delete AFTER DELETE ON book BEGIN
    INSERT INTO search (search, rowid, title) VALUES ('delete', OLD.rowid, OLD.title);
  END;
  CREATE TRIGGER search_update AFTER UPDATE ON book BEGIN
    INSERT INTO search (search, rowid, title) VALUES ('delete', OLD.rowid, OLD.title);
    INSERT INTO search (rowid, title) VALUES (NEW.rowid, NEW.title);
  END;
  """

/// What many apps have, to know when a row changed last.
let bookTouch = """
  CREATE TRIGGER touch AFTER UPDATE ON book BEGIN
    UPDATE book SET updated_at = updated_at + 1 WHERE isbn = NEW.isbn;
  END;
  """

extension Device {
  /// The keys of the books that ``bookSearch`` finds.
  func found(_ word: String) throws -> [String?] {
    try column(
      "SELECT isbn FROM book WHERE rowid IN (SELECT rowid FROM search('\(word)')) ORDER BY 1")
  }

  /// That the index holds what the table does.
  func checkSearch() throws {
    try execute("INSERT INTO search (search, rank) VALUES ('integrity-check', 1)")
  }
}
