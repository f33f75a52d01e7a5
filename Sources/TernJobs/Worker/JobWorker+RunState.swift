import TernCore

extension JobWorker {
  /// What a worker knows in one run. The next begins without it.
  struct RunState {
    var attempts: RunningAttempts
    /// Why the app refuses to have the end of a job stored, also as a failure: of jobs that count
    /// as running until it does.
    var refused: [JobID: any Error] = [:]
    /// When a job's time comes.
    var nextAt: WallTime?
    /// When the first job may go that only a pace holds back.
    var pacedAt: WallTime?
    /// What is left until the loop looks whether attempts went on for too long.
    var alarm: (@Sendable () -> Duration)?
    /// When retry budgets are restored that the network's last change was too soon for.
    var restoreAt: WallTime?
    /// When the worker looked for jobs last.
    var lookedAt = WallTime(milliseconds: .min)
    /// What observers were told that jobs wait for.
    var held: [JobID: JobEvent.Hold] = [:]
    /// Says that no other worker has taken over.
    var fence: Int64 = 0
    /// The database's version as the worker looked last.
    var seen: Int64?
    /// The network's, as it looked for jobs last.
    var seenPath: UInt64 = 0

    init(_ environment: JobEnvironment) { attempts = RunningAttempts(environment) }
  }
}
