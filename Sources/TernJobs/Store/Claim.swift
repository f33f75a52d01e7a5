import Foundation
import TernCore

/// What a worker knows as it looks for jobs, beside the rows.
struct ClaimQuery {
  let kinds: HandledKinds
  /// The attempts that go on.
  var running: JobsRunning
  /// How many more may.
  let count: Int
  let budget: JobRate?
  let now: WallTime
  let outset: JobRows.Outset
  /// Whether there is what jobs require.
  let isMet: (String) -> Bool
  var room = JobRoom()
}

/// What there is to do now.
struct Claimed: Sendable {
  var claims: [Claim] = []
  /// With fewer claims than were asked for: no more can run before that time, or before something
  /// happens.
  var until: WallTime?
  /// When the first job that only a pace holds back may go.
  var paced: WallTime?
  /// The first of each line that is due and has to wait, where observers want to know.
  var held: [JobHeld] = []
}

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
