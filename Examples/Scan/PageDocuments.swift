import ExampleWork
import Foundation
import GRDB
import Tern

/// What the page shows of the photos, and how many books there are.
struct StateDocument: Encodable, Sendable {
  var photos: [Board.Scan]
  /// Until when the service wants no requests.
  var pauseEndsMilliseconds: Int64?
  var quota: Board.Quota?
  var isOffline: Bool
  var mostPhotoBytes = ScanDatabase.mostPhotoBytes
  var books, toReview: Int
  /// What covers take on the disk, and may take.
  var (coverBytes, mostCoverBytes) = (0, PictureCache.limitBytes)
  /// Books of which two devices wrote one field at the same time.
  var inConflict: [String]

  /// For which a photo that is done is told of.
  private static let farewell: TimeInterval = 10

  init(_ database: ScanDatabase, isCut: Bool, in db: Database) throws {
    let board = try Board(
      database.jobs, doneSince: Date(timeIntervalSinceNow: -Self.farewell), in: db)
    inConflict = try database.lost(in: db).compactMap { $0.key.first?.string }
    photos = board.scans
    pauseEndsMilliseconds =
      board.gates.map { Int64($0.reopensAt.timeIntervalSince1970 * 1000) }.max()
    quota = board.quota
    isOffline = board.isOffline || isCut
    books = try Book.fetchCount(db)
    toReview = try Book.filter(literal: Book.toReview).fetchCount(db)
  }
}

/// The books that the page asks for, in the order that it wants.
struct BooksDocument: Encodable, Sendable {
  var books: [Book]
  /// Of which the first are here.
  var count: Int

  private static let orders = [
    "added": "addedMilliseconds DESC, title", "title": "title COLLATE NOCASE",
    "author": "author IS NULL, author COLLATE NOCASE, title", "sure": "confidence, title",
  ]

  /// - Parameter query: `text` has beginnings of words; `review` is there for books that need one.
  init(_ query: [String: String], in db: Database) throws {
    let words = Book.pattern(matching: query["text"] ?? "")
    let isVain = words == nil && query["text"]?.isEmpty == false
    var request = isVain ? Book.none() : Book.all()
    let texts: SQL = "FROM bookText WHERE bookText MATCH \(words)"
    let found = try words.map { _ in
      try SQLRequest<Int>("SELECT count(*) \(texts)").fetchOne(db) ?? 0
    }
    if let found {
      // Of many, each is looked up among those found, in the order that is wanted and no further
      // than the limit. A few are sorted sooner.
      let number: SQL = "(SELECT number FROM bookNumber WHERE isbn = book.isbn)"
      let few: SQL = "SELECT isbn FROM bookNumber WHERE number IN (SELECT rowid \(texts))"
      request = request.filter(
        literal: found > 200 ? "\(number) IN (SELECT rowid \(texts))" : "isbn IN (\(few))")
    }
    if query["review"] != nil { request = request.filter(literal: Book.toReview) }
    // Each book has one text, and those are counted sooner.
    count = try (query["review"] == nil ? found : nil) ?? request.fetchCount(db)
    let order = Self.orders[query["order"] ?? "added"] ?? "isbn"
    let limit = min(max(Int(query["limit"] ?? "") ?? 200, 1), 10_000)
    books = try request.order(sql: order + ", isbn").limit(limit).fetchAll(db)
  }
}

/// One book, the photos in which it was seen, and what another device wrote into it meanwhile.
struct BookDocument: Encodable, Sendable {
  struct Lost: Encodable, Sendable {
    var entry: Int64
    var values: [String: String]
  }

  var book: Book
  var photos: [String]
  var lost: [Lost]

  /// - Returns: `nil` where there is no such book.
  init?(_ isbn: String, _ database: ScanDatabase, in db: Database) throws {
    guard let book = try Book.fetchOne(db, key: isbn) else { return nil }
    self.book = book
    photos = try String.fetchAll(
      db, sql: "SELECT name FROM find JOIN scan ON id = scan WHERE isbn = ? ORDER BY id",
      arguments: [isbn])
    lost = try database.lost(in: db).filter { $0.key.first?.string == isbn }
      .map { Lost(entry: $0.id, values: $0.values.mapValues { $0.string ?? "" }) }
  }
}

extension ScanDatabase {
  /// Titles and the like that lost against another device's.
  func lost(in db: Database) throws -> [InboxEntry] {
    try replica.inbox(of: [.lastWriter, .sameKey], in: db)
      .filter { !Set($0.values.keys).isDisjoint(with: ["title", "author", "format"]) }
  }
}
