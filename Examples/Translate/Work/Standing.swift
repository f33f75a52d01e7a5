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

  var waiting: Int
  var cause: Cause

  init(_ jobs: JobQueue, in db: Database) throws {
    waiting = try Int.fetchOne(db, sql: "SELECT count(*) FROM waiting") ?? 0
    let job = try jobs.records(in: db).last {
      $0.kind == AnswerJob.kind && ($0.state == .waiting || $0.state == .running)
    }
    if let gate = try jobs.gates(in: db).first, gate.reopensAt > Date(), job != nil {
      cause = .limited(until: gate.reopensAt)
    } else if let job, job.state == .waiting, let reason = job.reason {
      cause = job.failures == 0 ? .unreachable(reason) : .retry(at: job.readyAt, reason: reason)
    } else {
      cause = .nothing
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
