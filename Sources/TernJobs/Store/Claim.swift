import Foundation
import TernCore

/// A job that a worker has.
struct Claim: Sendable {
  let id: JobID
  /// From 1; tells this run of the job from every other.
  let start: Int
  /// From 1.
  let attempt: Int
  /// The queue's random id.
  let queue: String
  let enqueued: WallTime
  /// Since when it might have begun.
  let awaited: WallTime
  let lane: JobLane
  let service: String?
  /// A ``JobRequirement``, as it is stored.
  let needs: String
  let payload: Data
  /// ``Job/version`` as it was enqueued.
  let version: Int
  let retry: RetryPolicy
  /// ``Job/attemptLimit``.
  let limit: Duration?
  /// Paths by name.
  let files: [String: String]

  /// No other job has it, in no database: the queue's random id, the job's, and the time at which
  /// it was enqueued, for two databases that were one until a backup was restored.
  var key: String { "\(queue)-\(id)-\(enqueued.milliseconds)" }
}

extension TransferID {
  init(of claim: Claim, name: String) {
    self.init(queue: claim.queue, claim.id, claim.enqueued, start: claim.start, name: name)
  }
}
