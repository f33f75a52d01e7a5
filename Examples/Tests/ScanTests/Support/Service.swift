import Foundation
import Logging
import Synchronization
import Tern
import TernNetwork

@testable import RecognizerKit

/// The recognizer in this process, which finds what it is told to: one list of books for each
/// photo, the last one for all that come after.
struct Service: Sendable {
  let url: String

  static func run(
    finding books: [[Finding]] = [Service.books], _ misbehaviour: String = "",
    pings: Duration = .seconds(30), clock: ScanClock = .system,
    _ body: @escaping @Sendable (Service) async throws -> Void
  ) async throws {
    let left = Left(books)
    var application = RecognizerApplication(
      logger: Logger(label: "recognizer") { _ in
        SwiftLogNoOpLogHandler()
      }
    ) { _, found in left.next().forEach(found) }
    application.misbehaviour = try Misbehaviour.list(misbehaviour)
    application.limits.pingInterval = pings
    application.clock = clock
    try await application.serving { url in
      var text = url.absoluteString
      if text.hasSuffix("/") { text.removeLast() }
      try await body(Service(url: text))
    }
  }

  private final class Left: Sendable {
    private let books: Mutex<[[Finding]]>

    init(_ books: [[Finding]]) { self.books = Mutex(books) }

    func next() -> [Finding] {
      books.withLock { $0.count > 1 ? $0.removeFirst() : $0.first ?? [] }
    }
  }

  static let books = [
    book("An Inland Viaduct", "9780001000018"), book("The Velvet Ferryman", "9780002000024", 0.7),
    book("Letters to an Estuary", "9780003000030"),
  ]

  static func book(_ title: String, _ isbn: String, _ confidence: Double = 0.95) -> Finding {
    Finding(
      book: CatalogueBook(title: title, originalTitle: nil, authors: ["Ann Author"], isbn: isbn),
      confidence: confidence)
  }

  func misbehave(_ text: String) async throws {
    _ = try await SystemTransport.shared.send(
      HTTPRequest(.post, url + "/control/misbehave", body: .bytes(Array(text.utf8))))
  }

  struct Counts: Decodable, Sendable {
    var jobsCreated: Int
    var jobsCleaned: Int
    var streamsOpened: Int
    var jobsByDevice: [String: Int]
    /// By the problem's code.
    var refusals: [String: Int]
  }

  func counts() async throws -> Counts {
    let response = try await SystemTransport.shared.send(
      HTTPRequest(.get, url + "/control/counts"))
    return try JSONDecoder().decode(
      Counts.self, from: Data(await response.collect(limit: 1 << 20)))
  }
}
