import Foundation
import GRDB
import Tern

/// Where the work stands: of this device's questions, how many wait, and for what.
struct Standing: Hashable, Sendable {
  enum Cause: Hashable, Sendable {
    /// Nothing: it is being asked, or will be at once.
    case nothing
    case unreachable(String)
    case limited(until: Date)
    case retry(at: Date, reason: String)
  }

  /// What was tried last: a job, and how often it was started.
  struct Start: Hashable, Sendable {
    var job: JobID
    var number: Int

    /// - Returns: `nil` where nothing is to be done.
    init?(_ jobs: JobQueue, in db: Database) throws {
      guard let job = try Standing.job(jobs, in: db) else { return nil }
      (self.job, number) = (job.id, job.starts)
    }
  }

  var waiting: Int
  var cause: Cause

  init(_ jobs: JobQueue, in db: Database) throws {
    waiting = try Int.fetchOne(db, sql: "SELECT count(*) FROM waiting") ?? 0
    let job = try Self.job(jobs, in: db)
    if let gate = try jobs.gates(in: db).first, gate.reopensAt > Date(), job != nil {
      cause = .limited(until: gate.reopensAt)
    } else if let job, job.state == .waiting, let reason = job.reason {
      // A pause that is over leaves its reason, and neither of these.
      if job.unreached > 0 {
        cause = .unreachable(reason)
      } else {
        cause = job.failures > 0 ? .retry(at: job.readyAt, reason: reason) : .nothing
      }
    } else {
      cause = .nothing
    }
  }

  private static func job(_ jobs: JobQueue, in db: Database) throws -> JobRecord? {
    try jobs.records(in: db).last {
      $0.kind == AnswerJob.kind && ($0.state == .waiting || $0.state == .running)
    }
  }

  /// For a person, counting down.
  func text(now: Date) -> String {
    let count = waiting == 0 ? Word.nothingWaits.text : Word.someWait.text(waiting)
    func seconds(_ date: Date) -> Int { max(0, Int(date.timeIntervalSince(now).rounded(.up))) }
    return switch cause {
    case .nothing: count
    case .unreachable(let reason): "\(count); \(Word.unreachable.text): \(reason)"
    case .limited(let date): "\(count); \(Word.limited.text(seconds(date)))"
    case .retry(let date, let reason): "\(count); \(Word.retries.text(seconds(date))): \(reason)"
    }
  }
}
