import Synchronization

/// The named places where a crash must cost nothing. A test decides what happens there; without
/// the package trait `Rehearsal` reaching one is no code at all.
package enum CrashPoint: String, CaseIterable, Sendable {
  /// A write was noted, and its transaction is still open.
  case captureBeforeCommit = "capture.before-commit"
  /// The writer's transaction is durable, and nothing is sealed.
  case captureAfterCommit = "capture.after-commit"
  /// Notes were read and cells stamped; operation and notes are still as they were.
  case sealBeforeLog = "seal.before-log"
  /// The operation is in the log, and the transaction is still open.
  case sealBeforeCommit = "seal.before-commit"
  case sealAfterCommit = "seal.after-commit"
  case pushBeforeSend = "push.before-send"
  /// The remote has stored what was pushed, and its answer was not read.
  case pushAfterSend = "push.after-send"
  case pullAfterReceive = "pull.after-receive"
  /// Some operations of a page are in the tables, and the cursor stands where it stood.
  case mergeBeforeCursor = "merge.before-cursor"
  case mergeBeforeCommit = "merge.before-commit"
  case mergeAfterCommit = "merge.after-commit"
  /// The server has written a push and not committed it.
  case serverBeforeCommit = "server.before-commit"
  /// The server has committed a push and not answered.
  case serverAfterCommit = "server.after-commit"
  /// The server has made a snapshot the newest, and not committed it.
  case serverBeforeSnapshot = "server-keeping.before-snapshot"
  /// A snapshot is the newest, and whoever uploaded it was not told.
  case serverAfterSnapshot = "server-keeping.after-snapshot"
  /// The server has trimmed a space, and not committed it.
  case serverBeforeTrim = "server-keeping.before-trim"
  /// A job's file is copied and synced, and no job has it.
  case jobAfterCopy = "job.after-copy"
  /// A job is written, and its caller's transaction is still open.
  case jobBeforeEnqueueCommit = "job.before-enqueue-commit"
  case jobAfterEnqueueCommit = "job.after-enqueue-commit"
  /// The worker's claim is durable, and no handler runs yet.
  case jobAfterClaim = "job.after-claim"
  /// A step's result and its rows are written, and the transaction is still open.
  case jobBeforeStepCommit = "job.before-step-commit"
  case jobAfterStepCommit = "job.after-step-commit"
  /// How an attempt ended is written, and the transaction is still open.
  case jobBeforeFinishCommit = "job.before-finish-commit"
  case jobAfterFinishCommit = "job.after-finish-commit"
  /// No job has a file any more, and it is still there.
  case jobBeforeUnlink = "job.before-unlink"
  /// A transfer is noted in its job's row, and the system does not have it.
  case uploadBeforeBegin = "upload.before-begin"
  /// The system has it, and the attempt has not ended.
  case uploadAfterBegin = "upload.after-begin"
  /// Its answer is written, and the transaction is still open.
  case uploadBeforeStore = "upload.before-store"
  /// Its answer is durable, and the system was not told to forget it.
  case uploadAfterStore = "upload.after-store"
  /// It is noted that a photo is on its way, and nothing of it is.
  case scanBeforeSend = "scan.before-send"
  /// The service has accepted a photo, and what it calls the job was not read.
  case scanAfterSend = "scan.after-send"
  /// An event was read, and nothing of it is stored.
  case scanAfterEvent = "scan.after-event"
  /// All books of a scan were read, and the scan does not have them.
  case scanAfterResults = "scan.after-results"
  case scanBeforeCleanUp = "scan.before-clean-up"
  /// The service has forgotten a scan, and it is still to be cleaned up.
  case scanAfterCleanUp = "scan.after-clean-up"

  /// A part of a snapshot is in its file, and not all are.
  case snapshotPartStored = "snapshot.part-stored"
  /// A snapshot is in the place of the state, and the transaction is still open.
  case snapshotBeforeCommit = "snapshot.before-commit"

  /// Those that every replica and its server reach.
  package static let ofSync = allCases.filter { point in
    [ofJobs, ofUploads, ofScan, ofServerKeeping, ofSnapshots].allSatisfy { !$0.contains(point) }
  }
  /// Those that a server reaches beside its requests to push and pull.
  package static let ofServerKeeping = allCases.filter {
    $0.rawValue.hasPrefix("server-keeping.")
  }
  /// Those of a replica that loads one.
  package static let ofSnapshots = allCases.filter { $0.rawValue.hasPrefix("snapshot.") }
  package static let ofJobs = allCases.filter { $0.rawValue.hasPrefix("job.") }
  /// Those of what jobs hand over.
  package static let ofUploads = allCases.filter { $0.rawValue.hasPrefix("upload.") }
  /// Those of Examples/Scan, which is tested as an app is that was built on a job queue.
  package static let ofScan = allCases.filter { $0.rawValue.hasPrefix("scan.") }

  #if Rehearsal
  package typealias Handler = @Sendable (CrashPoint) throws -> Void

  private static let process = Mutex<Handler?>(nil)
  @TaskLocal private static var task: OfTask?

  /// No bare closure: as the value of a task local it ends an optimised process
  /// (https://github.com/swiftlang/swift/pull/88321, not in Swift 6.3).
  private struct OfTask: Sendable {
    let handler: Handler
  }

  package static func reach(_ point: CrashPoint) throws {
    if let handler = task?.handler ?? process.withLock({ $0 }) { try handler(point) }
  }

  /// Runs `body`, and the tasks that it makes, with a handler that is called at every point.
  package static func with<T>(_ handler: @escaping Handler, _ body: () throws -> T) rethrows -> T {
    try $task.withValue(OfTask(handler: handler), operation: body)
  }

  package static func with<T>(_ handler: @escaping Handler, _ body: () async throws -> T)
    async rethrows -> T
  {
    try await $task.withValue(OfTask(handler: handler), operation: body)
  }

  /// For the rest of this process's life.
  package static func handle(_ handler: @escaping Handler) {
    process.withLock { $0 = handler }
  }
  #else
  @inlinable
  package static func reach(_ point: CrashPoint) throws {}
  #endif
}
