import ExampleService
import GRDB
import Tern

/// What `stats`, `list` and `hash` print.
struct Report {
  let replica: Replica

  func stats() async throws {
    let counts = try await replica.counts()
    try await replica.database.read { db in
      func line(_ name: String, _ sql: String) throws {
        say("\(name)\t\(try Int64.fetchOne(db, sql: sql) ?? 0)")
      }
      try line("books", "SELECT count(*) FROM book")
      try line("shelves", "SELECT count(*) FROM shelf")
      try line("scans", "SELECT sum(timesScanned) FROM book")
      try line("rated", "SELECT count(rating) FROM book")
    }
    say("operations\t\(counts.operations)")
    say("unsealed\t\(counts.unsealedChanges)")
    say("held\t\(counts.quarantined)")
    for kind in ConflictKind.allCases {
      say("conflict.\(kind.rawValue)\t\(counts.conflicts[kind] ?? 0)")
    }
  }

  func list(limit: Int) async throws {
    let books = try await replica.database.read { db in
      try Book.order(Column("isbn")).limit(limit).fetchAll(db)
    }
    for book in books {
      say("\(book.isbn)\t\(book.title)\t\(book.rating ?? 0)\t\(book.timesScanned)")
    }
  }

  /// FNV-1a in 64 bits over the synced columns of every row, in the order of the keys.
  func hash() async throws {
    let hash = try await replica.database.read { db in
      var hash: UInt64 = 0xcbf2_9ce4_8422_2325
      for (table, columns) in Self.synced {
        let quoted = columns.map { "quote(\($0))" }.joined(separator: " || ',' || ")
        let rows = try String.fetchCursor(
          db, sql: "SELECT \(quoted) FROM \(table) ORDER BY \(columns[0])")
        while let row = try rows.next() {
          for byte in row.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
        }
      }
      return hash
    }
    say(String(hash, radix: 16))
  }

  private static let synced = [
    ("shelf", ["id", "name"]),
    (
      "book",
      [
        "isbn", "isbn13", "authors", "year", "title", "language", "averageRating", "imageURL",
        "rating", "shelf", "timesScanned", "confidence",
      ]
    ),
  ]
}
