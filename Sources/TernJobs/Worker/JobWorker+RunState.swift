import TernCore
import TernDatabase

extension JobWorker {
  /// What a worker knows in one run. The next begins without it.
  struct RunState {
    /// `nil` while nothing runs.
    var news: AsyncStream<Void>.Continuation?
    /// The attempts that go on, until their ends are stored.
    var attempts: [JobID: Attempt] = [:]
    /// Why the app refuses to have the end of a job stored, also as a failure: of jobs that count
    /// as running until it does.
    var refused: [JobID: any Error] = [:]
    /// What the database refused; nothing further is written then, but that nobody runs what ran.
    var failure: (any Error)?
    /// Whether the database was waited for in vain after the worker was told to end.
    var hasWaitedToTheEnd = false
    /// The transfers that this run handed over and has no answer to, and the network at that time.
    var handedOver: [String: NetworkPath] = [:]
    /// Those of them that are being handed over, and whether the system is to forget
    /// them after that.
    var beginning: [String: Bool] = [:]
    /// Why the app refuses to have the answers to transfers stored, which the system keeps.
    var refusedAnswers: [String: any Error] = [:]
    /// Lanes whose attempts ask the app for another credential, and who waits for his turn there.
    var asking: [JobLane: [CheckedContinuation<Void, Never>]] = [:]
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
  }
}
