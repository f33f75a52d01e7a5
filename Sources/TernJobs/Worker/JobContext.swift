import Foundation
import GRDB
import TernCore

/// What a handler has to do with its job's row: checkpoints, files, times and progress.
///
/// After its attempt has ended, and after its job was removed, everything here that writes throws
/// ``JobQueueError`` `.notRunning`.
public struct JobContext: Sendable {
  let claim: Claim
  let worker: JobWorker
  let attempted: AttemptState

  init(claim: Claim, worker: JobWorker) {
    self.claim = claim
    self.worker = worker
    attempted = AttemptState(files: claim.files)
  }

  public var id: JobID { claim.id }
  /// The job's ``Job/kind``.
  public var kind: String { claim.lane.kind }
  /// The lane that it was enqueued in.
  public var lane: String? { claim.lane.name.isEmpty ? nil : claim.lane.name }
  /// The service whose gate holds the job back, and is closed where its attempt is limited.
  public var service: String? { claim.service }
  /// Which start of the job this is, from 1, in any life of the process: every attempt is one,
  /// counted or not.
  public var start: Int { claim.start }
  package var observers: [any JobObserver] { worker.queue.environment.observers }
  /// Which of its attempts this is, from 1, since the last checkpoint of an earlier one. An attempt
  /// that does not count, because the process died for example, is repeated under its number.
  public var attempt: Int { claim.attempt }

  /// An idempotency key for what the job asks of another service: the same in every attempt and
  /// every life of the process, and no other job's, in no database. Stored before the job begins.
  ///
  /// - Parameter name: tells the job's requests apart. ASCII, where the key is sent in a header.
  public func idempotencyKey(_ name: String) -> String { "\(claim.key)-\(name)" }

  /// The credential of its lane, from the closure that ``JobHandlers/credential(for:_:)`` took,
  /// which is asked each time.
  ///
  /// A failure that refuses it, 401 and 403 for example, costs no attempt: the next one is given
  /// another, for which the app is asked once. Where there is none, or that is refused as well, the
  /// lane's jobs wait until ``JobQueue/credentialChanged(of:in:)``, or until a worker's run begins.
  /// What was refused is not given again.
  ///
  /// - Throws: what says that there is none, and ends the attempt where the handler lets it
  ///   through; ``JobFailure`` `.unreachable` for what the closure throws, `.permanent` where there
  ///   is no closure; `DatabaseError`.
  public func credential() async throws -> String {
    try await worker.credentials.credential(of: claim, attempted)
  }

  // MARK: - Values

  /// What ``save(_:_:commit:)`` stored last, in this attempt or an earlier one.
  ///
  /// - Throws: ``JobQueueError`` `.unreadable` when it is of another type; `DatabaseError`.
  public func value<V: Decodable & Sendable>(
    _ name: String, as type: V.Type = V.self
  ) async throws -> V? {
    try await worker.checkpoint(.value, name, of: claim).map {
      try JobCoding.decode(type, $0, of: name)
    }
  }

  /// Stores a value in place of the one before, in one transaction with what `commit` writes: how
  /// far a stream was read, say, with the rows that were read. A checkpoint, as a step is.
  ///
  /// - Parameter commit: runs in that transaction; again, if another process was in its way.
  /// - Throws: what `commit` throws, with nothing written; ``JobQueueError`` `.checkpointTooLarge`,
  ///   `.tooManyCheckpoints`, `.notRunning`; `DatabaseError`.
  public func save<V: Encodable & Sendable>(
    _ name: String, _ value: V, commit: @Sendable (Database) throws -> Void = { _ in }
  ) async throws {
    let content = try JobCoding.encode(value)
    let value = CheckpointCommit(
      claim: claim, kind: .value, name: name, content: content, files: StepFiles())
    try await worker.commit(value, of: attempted, commit)
  }

  // MARK: - Time

  /// What remains of `duration`, which began with the first call with this name, also when that was
  /// in another attempt or another life of the process. Zero when it is over. When the wall clock
  /// was set back to before that first call, it begins now.
  ///
  /// - Throws: ``JobQueueError`` `.tooManyCheckpoints`, `.notRunning`, and `.unreadable` when what
  ///   the first call stored is damaged; `DatabaseError`.
  public func remaining(_ name: String, of duration: Duration) async throws -> Duration {
    let left =
      try await worker.deadline(name, duration, of: claim)
      - worker.queue.environment.wallClock()
    // It may have been another duration as it was stored.
    return min(max(left, .zero), duration)
  }

  // MARK: - Progress

  /// Tells who looks at the job how far it is. Each call is a small write; nothing depends on it.
  ///
  /// - Parameters:
  ///   - progress: from 0 to 1, where that can be said.
  ///   - message: cut to ``JobLimits/messageLength``.
  /// - Throws: ``JobQueueError`` `.notRunning`; `DatabaseError`.
  public func report(progress: Double?, message: String? = nil) async throws {
    try await worker.report(progress.map { min(max($0, 0), 1) }, message, of: claim)
  }

  // MARK: - Files

  /// Where a file of the job is.
  ///
  /// - Throws: ``JobQueueError`` `.noSuchFile`.
  public func file(_ name: String) throws -> URL {
    guard let path = attempted.path(name) else {
      throw JobQueueError(.noSuchFile, "job \(id) has no file “\(name)”, or it was released")
    }
    return URL(filePath: worker.queue.folder.absolute(path))
  }
}
