import ExamplePages
import ExampleService
import ExampleWork
import Foundation
import GRDB
import RecognizerKit
import Tern
import TernJobs
import TernNetwork

/// What stands behind the page of `scan serve`.
struct ScanPage: PageProgram {
  let database: ScanDatabase
  let covers: PictureCache
  /// Whether the service is on this machine, so that it needs no network.
  let isLocal: Bool

  func answer(_ request: PageRequest) async -> PageAnswer {
    await .of { try await request.isChange ? change(request) : look(request) }
  }

  func uploadBytes(_ path: String) -> Int? {
    ["photos": ScanDatabase.mostPhotoBytes, "import": 20 << 20][path]
  }

  // MARK: - Looks

  private func look(_ request: PageRequest) async throws -> PageAnswer {
    let isbn = request.query["isbn"] ?? ""
    switch request.path {
    case "state":
      let isCut = !isLocal && !SystemPath.shared.path.hasRoute
      var state = try await database.pool.read { try StateDocument(database, isCut: isCut, in: $0) }
      state.coverBytes = await covers.usedBytes
      return try PageAnswer(state)
    case "books":
      return try PageAnswer(await database.pool.read { try BooksDocument(request.query, in: $0) })
    case "book":
      guard let book = try await database.pool.read({ try BookDocument(isbn, database, in: $0) })
      else { return .failure("none", "There is no such book. It may have been deleted.") }
      return try PageAnswer(book)
    case "cover":
      let book = try await database.pool.read { try Book.fetchOne($0, key: isbn) }
      return await covers.answer(book?.coverURL ?? "")
    case "export":
      let books = try await database.pool.read { try Book.order(Column("isbn")).fetchAll($0) }
      return PageAnswer(Data(BookTable.text(books).utf8), type: "text/csv; charset=utf-8")
    case "preview":
      let scan = Int64(request.query["scan"] ?? "") ?? 0
      // Empty where there is none any more.
      return PageAnswer(try await database.preview(of: scan) ?? Data(), type: "image/jpeg")
    default: return .unknown
    }
  }

  // MARK: - Changes

  private struct Wanted: Decodable {
    var scan, entry: Int64?
    var isbn, title, author, format: String?
  }

  private func change(_ request: PageRequest) async throws -> PageAnswer {
    if let file = request.file { return try await take(file, request) }
    if request.path == "restore" {
      let book = try JSONDecoder().decode(Book.self, from: request.body)
      return try await PageAnswer(["added": database.add([book]).added])
    }
    let wanted = try JSONDecoder().decode(Wanted.self, from: request.body)
    switch (request.path, wanted.scan, wanted.isbn) {
    case ("retry", let scan?, _):
      let isDone = try await database.pool.write {
        try database.jobs.retry(JobID(rawValue: scan), in: $0)
      }
      guard isDone else { throw Refusal("the photo has not failed: there is nothing to retry") }
    case ("forget", let scan?, _):
      try await database.pool.write { try database.forget(scan, in: $0) }
    case ("edit", _, let isbn?):
      try await database.edit(
        isbn, title: wanted.title, author: wanted.author, format: wanted.format)
    case ("prefer", _, _), ("dismiss", _, _):
      let lost = try await database.pool.read { try database.lost(in: $0) }
      guard let entry = lost.first(where: { $0.id == wanted.entry })
      else { throw Refusal("that value is not kept any more") }
      if request.path == "prefer" {
        try await database.replica.restore(entry)
      } else {
        try await database.replica.dismiss(entry)
      }
    case ("clear-covers", _, _): try await covers.clear()
    case ("delete", _, let isbn?): try await database.change(isbn, "DELETE FROM book")
    default: return .unknown
    }
    return try PageAnswer(["done": true])
  }

  private func take(_ file: URL, _ request: PageRequest) async throws -> PageAnswer {
    if request.path == "import" {
      let (added, known) = try await database.add(BookTable.books([UInt8](Data(contentsOf: file))))
      return try PageAnswer(["added": added, "known": known])
    }
    let name = String((request.query["name"] ?? "").prefix(200))
    let id = try await database.accept(
      file, named: name.isEmpty ? "photo.jpg" : name, key: request.query["key"])
    return try PageAnswer(["scan": id.rawValue])
  }

  func watch(_ tell: @escaping @Sendable (PageNews) -> Void) async {
    await PageNews.follow(database.pool, database.jobs, tell)
  }
}
