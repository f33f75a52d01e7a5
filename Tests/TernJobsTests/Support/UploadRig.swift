import Foundation
import GRDB
import Synchronization
import Tern
import TernJobs
import TernNetwork
import TernTesting
import Testing

/// Sends its photo, and writes down what came of it.
struct SendPhoto: Job {
  static let kind = "send-photo"
  static let service: String? = "recogniser"
  var shelf: String
}

/// A server that does what it is asked once for each idempotency key.
final class PhotoService: Sendable {
  private let seen = Mutex<[(key: String, photo: String)]>([])

  /// What came, repetitions included.
  var requests: [String] { seen.withLock { $0.map(\.key) } }

  /// What it has done.
  var effects: [String] {
    seen.withLock { seen in
      var keys: Set<String> = []
      return seen.filter { keys.insert($0.key).inserted }.map(\.photo)
    }
  }

  func serve(_ upload: ScriptedTransfers.Upload) -> TransferAnswer {
    let key = upload.request.headers["Idempotency-Key"] ?? "none"
    let photo = String(decoding: upload.content, as: UTF8.self)
    seen.withLock { $0.append((key, photo)) }
    return .response(
      status: 200, headers: ["Content-Type": "application/json"],
      body: Array("[\"title of \(photo)\"]".utf8))
  }
}

/// Uploads that end with the process, which sees what becomes of the network.
struct InProcess: BackgroundTransfers {
  let inner: ScriptedTransfers
  var endsWithProcess: Bool { true }
  func begin(_ id: String, _ request: HTTPRequest, file: URL) async throws {
    try inner.begin(id, request, file: file)
  }
  func ids() async -> Set<String> { inner.ids() }
  func forget(_ id: String) async { inner.forget(id) }
  func run(_ take: @escaping @Sendable (_ id: String, TransferAnswer) async -> Void) async {
    await inner.run(take)
  }
}

extension TransferAnswer {
  static func status(_ status: Int, _ headers: HTTPHeaders = [:]) -> TransferAnswer {
    .response(status: status, headers: headers, body: [])
  }

  static func failure(_ code: HTTPError.Code) -> TransferAnswer {
    .failure(HTTPError(code, origin: nil, "as the test says"))
  }

  static let titles = TransferAnswer.response(
    status: 201, headers: ["X-One": "1", "X-Two": "2"], body: Array("[\"Dune\"]".utf8))
}

extension Rig {
  /// A worker whose handler uploads its job's photo and then stores the titles in the answer.
  func photoWorker(
    _ queue: JobQueue, _ transfers: (any BackgroundTransfers)?, concurrency: Int = 4,
    within limit: Duration = .seconds(86_400)
  ) -> JobWorker {
    JobWorker(queue, concurrency: concurrency, path: path, transfers: transfers) {
      $0.handle(SendPhoto.self) { job, context in
        self.note("#\(context.id) start, attempt \(context.attempt)")
        let titles = try await context.upload(
          "send", .photo, file: "photo", within: limit
        ).json([String].self)
        try await context.step("note") {
        } commit: { db in
          for title in titles {
            try db.execute(sql: "INSERT INTO book VALUES (?)", arguments: [title])
          }
        }
        self.note("#\(context.id) done")
      }
      $0.handle(Tidy.self) { job, _ in self.note("tidy \(job.name)") }
    }
  }

  @discardableResult
  func enqueuePhoto(
    _ queue: JobQueue, _ photo: String = "photo", unique: JobUniqueness? = nil
  ) throws -> JobID {
    let file = try perform { try await queue.attach(Data(photo.utf8), as: "photo") }
    return try database.write {
      try queue.enqueue(SendPhoto(shelf: photo), unique: unique, files: [file], in: $0)
    }
  }
}

extension HTTPRequest {
  /// Made anew by each attempt.
  static var photo: HTTPRequest {
    HTTPRequest(.post, "https://scan.example/v1/photos", headers: ["Authorization": "Bearer now"])
  }
}
