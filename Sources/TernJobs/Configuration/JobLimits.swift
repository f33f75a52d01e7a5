import TernCore

/// How much a queue takes. What goes over a limit is refused by its name, and what is there stays.
public struct JobLimits: Hashable, Sendable {
  /// Of one job's JSON.
  public var payloadBytes = 1 << 20
  /// Jobs that have not ended: waiting, running, failed and parked.
  public var jobs = 10_000
  /// Jobs beyond ``jobs`` that running jobs may enqueue in the commits of their steps and saved
  /// values: an app whose jobs end by enqueueing others would be stuck at its limit otherwise.
  public var followUps = 1000
  /// Of what a job is unique by, and of the names of its lane, its service and an endpoint that it
  /// requires, each, in UTF-8.
  public var keyBytes = 1000
  /// Of one file of a job.
  public var fileBytes = 256 << 20
  /// Attached or made by its steps, and not released.
  public var filesPerJob = 32
  /// Steps, values, deadlines and uploads of one job.
  public var checkpointsPerJob = 1000
  /// Of one step's result, or one value, as JSON.
  public var checkpointBytes = 1 << 20
  /// Of messages and reasons, in Unicode scalars; longer ones are cut.
  public var messageLength = 500
  /// How many jobs that are done or cancelled are kept, the newest, for who looks.
  public var keptDone = 100
  /// How long those are kept at most; looked at when a job ends. By default for ever.
  public var keptFor: Duration?
  /// Of those that failed: the newest that counted are kept, and where these leave room the newest
  /// of the others.
  public var failedAttemptsPerJob = 50
  /// How many processes in a row may die of a job before it is parked.
  public var deaths = 5

  public init() {}
}

extension JobLimits {
  /// How many jobs may be there that have not ended, with what a running job's commit enqueues.
  var jobsAndFollowUps: Int {
    // No limit may be the greatest number.
    jobs + min(followUps, Int.max - jobs)
  }

  func cut(_ text: String) -> String { text.cut(to: messageLength, mark: "…") }
}
