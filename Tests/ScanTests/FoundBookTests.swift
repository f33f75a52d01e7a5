#if Server && (os(Linux) || os(macOS))
import Foundation
import GRDB
import TestProcesses
import Tern
import Testing

@testable import scan

@Suite("Books as the service reports them")
struct FoundBookTests {
  private func inLibrary(_ body: @Sendable (Database) throws -> Void) async throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "scan-\(UUID())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let path = folder.appending(path: "scan.sqlite").path
    let database = try await ScanDatabase.open(path, pause: .seconds(30))
    try await database.pool.writeWithoutTransaction { db in
      for id in ["1", "2"] {
        try db.execute(
          sql: "INSERT INTO scan (id, name, job) VALUES (?, 'shelf.jpg', 1)", arguments: [id])
      }
      try body(db)
    }
  }

  private func book(_ title: String, _ confidence: Double, _ cover: String? = nil) -> FoundBook {
    FoundBook(
      title: title, author: nil, isbn: "9780441172719", coverUrl: cover, format: nil,
      confidence: confidence, enrichmentStatus: cover == nil ? "pending" : "success")
  }

  @Test func `a book that comes again in one scan brings news, and is counted once`() async throws {
    try await inLibrary { db in
      try book("Dune", 0.6).record(for: "1", in: db)
      try book("Dune", 0.9, "https://covers/dune").record(for: "1", in: db)
      let row = try #require(try Book.fetchOne(db))
      #expect(row.timesScanned == 1)
      #expect(row.confidence == 0.9)
      #expect(row.coverURL == "https://covers/dune")
      #expect(row.enrichment == "success")
    }
  }

  @Test func `the surer scan gives the title, until a person has looked`() async throws {
    try await inLibrary { db in
      try book("Dime", 0.4).record(for: "1", in: db)
      try book("Dune", 0.9).record(for: "2", in: db)
      #expect(try Book.fetchOne(db)?.title == "Dune")
      try db.execute(sql: "UPDATE book SET title = 'Dune!', isReviewed = TRUE")
      try db.execute(sql: "INSERT INTO scan (id, name, job) VALUES ('3', 'c.jpg', 1)")
      try book("Dune", 1).record(for: "3", in: db)
      let row = try #require(try Book.fetchOne(db))
      #expect(row.title == "Dune!")
      #expect(row.timesScanned == 3)
    }
  }

  @Test func `a book that a person has taken out stays out when its event comes again`()
    async throws
  {
    try await inLibrary { db in
      try book("Dune", 0.9).record(for: "1", in: db)
      try db.execute(sql: "DELETE FROM book")
      try book("Dune", 0.9).record(for: "1", in: db)
      #expect(try Book.fetchCount(db) == 0)
      try book("Dune", 0.9).record(for: "2", in: db)
      #expect(try Book.fetchOne(db)?.timesScanned == 1)
    }
  }

  @Test func `a book that can't be read spoils none of the others`() throws {
    let json = #"[{"title": "Dune"}, {"title": null}, 7, {"title": "Emma", "isbn": "1"}]"#
    let list = try JSONDecoder().decode(FoundBooks.self, from: Data(json.utf8))
    #expect(list.books.map(\.title) == ["Dune", "Emma"])
    #expect(list.unreadable == 2)
  }

  @Test func `a stream at another origin is refused before anything is sent there`() throws {
    let service = Talaria(
      base: try #require(URL(string: "http://127.0.0.1:8090")), deviceID: "d",
      transport: SystemTransport.shared)
    var ticket = Talaria.Ticket(jobID: "1", streamURL: "http://127.0.0.1:8090/s", token: "secret")
    let request = try service.stream(ticket, within: .seconds(1))
    #expect(request.headers["Authorization"] == "Bearer secret")
    ticket.streamURL = "http://127.0.0.1:8091/s"
    #expect(throws: ServiceError.self) { try service.stream(ticket, within: .seconds(1)) }
  }
}
#endif
