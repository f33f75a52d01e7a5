import ExampleService
import Foundation
import GRDB
import Tern
import TernJobs

/// Where the work stands: of this device's questions, how many wait, and for what.
struct Standing: Hashable, Sendable {
  enum Cause: Hashable, Sendable {
    /// Nothing: it is being asked, or will be at once.
    case nothing
    case unreachable(String)
    case limited(until: Date)
    case retry(at: Date, reason: String)
  }

  /// Of the first question that waits for a service: what was tried last, and what came of it.
  struct Line: Hashable, Sendable {
    var service: String
    var job: JobID
    /// How often it was started.
    var starts: Int
    var cause: Cause
  }

  var waiting: Int
  /// By service.
  var lines: [Line]

  init(_ database: TranslateDatabase, in db: Database) throws {
    waiting = try Int.fetchOne(db, sql: "SELECT count(*) FROM waiting") ?? 0
    let gates = try database.jobs.gates(in: db)
    // Beside the one that is its turn there may be one that ends, or whose question is gone.
    let newest = Dictionary(try database.underWay(in: db).map { ($1, $0) }) { max($0, $1) }
    lines = try newest.compactMap { service, id in
      guard let job = try database.jobs.record(id, in: db) else { return nil }
      let gate = gates.first { $0.service == service && $0.reopensAt > Date() }
      return Line(
        service: service, job: id, starts: job.starts,
        cause: gate.map { .limited(until: $0.reopensAt) } ?? Self.cause(of: job))
    }.sorted { $0.service < $1.service }
  }

  private static func cause(of job: JobRecord) -> Cause {
    // A pause that is over leaves its reason, and neither of these.
    guard job.state == .waiting, let reason = job.reason else { return .nothing }
    if job.unreached > 0 { return .unreachable(reason) }
    return job.failures > 0 ? .retry(at: job.readyAt, reason: reason) : .nothing
  }

  subscript(service: String) -> Line? { lines.first { $0.service == service } }

  /// What somebody is told of: the work goes on from job to job without a word.
  struct News: Hashable, Sendable {
    var waiting: Int
    var causes: [String: Cause]
  }

  var news: News {
    let causes = lines.filter { $0.cause != .nothing }.map { ($0.service, $0.cause) }
    return News(waiting: waiting, causes: Dictionary(uniqueKeysWithValues: causes))
  }

  /// For a person, counting down.
  func text(now: Date) -> String {
    let count = waiting == 0 ? Word.nothingWaits.text : Word.someWait.text(waiting)
    let causes = lines.compactMap { line in
      line.cause.text(now: now).map { lines.count == 1 ? $0 : "\(line.service): \($0)" }
    }
    return ([count] + causes).joined(separator: "; ").shown()
  }

  /// As `--json` has it.
  func document(now: Date) -> Document {
    Document(
      waiting: waiting,
      services: lines.map { line in
        let (state, reason) = line.cause.named
        return Document.Service(
          service: line.service, state: state, seconds: line.cause.seconds(now: now),
          reason: reason)
      })
  }

  struct Document: Encodable {
    struct Service: Encodable {
      /// `asking`, `unreachable`, `limited` or `retrying`.
      var service, state: String
      /// Until it is asked again.
      var seconds: Int?
      var reason: String?
    }
    var waiting: Int
    var services: [Service]
  }
}

extension Standing.Cause {
  /// When it is asked again.
  var until: Date? {
    switch self {
    case .nothing, .unreachable: nil
    case .limited(let date), .retry(let date, _): date
    }
  }

  func seconds(now: Date) -> Int? {
    until.map { max(0, Int($0.timeIntervalSince(now).rounded(.up))) }
  }

  func text(now: Date) -> String? {
    let seconds = seconds(now: now) ?? 0
    return switch self {
    case .nothing: nil
    case .unreachable(let reason): "\(Word.unreachable.text): \(reason)"
    case .limited: Word.limited.text(seconds)
    case .retry(_, let reason): "\(Word.retries.text(seconds)): \(reason)"
    }
  }

  var named: (state: String, reason: String?) {
    switch self {
    case .nothing: ("asking", nil)
    case .unreachable(let reason): ("unreachable", reason)
    case .limited: ("limited", nil)
    case .retry(_, let reason): ("retrying", reason)
    }
  }
}
