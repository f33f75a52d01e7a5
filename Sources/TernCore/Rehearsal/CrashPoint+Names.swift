@_spi(Rehearsal) extension CrashPoint {
  /// A write was noted, and its transaction is still open.
  public static let captureBeforeCommit = CrashPoint(rawValue: "capture.before-commit")
  /// The writer's transaction is durable, and nothing is sealed.
  public static let captureAfterCommit = CrashPoint(rawValue: "capture.after-commit")
  /// Notes were read and cells stamped; operation and notes are still as they were.
  public static let sealBeforeLog = CrashPoint(rawValue: "seal.before-log")
  /// The operation is in the log, and the transaction is still open.
  public static let sealBeforeCommit = CrashPoint(rawValue: "seal.before-commit")
  public static let sealAfterCommit = CrashPoint(rawValue: "seal.after-commit")
  public static let pushBeforeSend = CrashPoint(rawValue: "push.before-send")
  /// The remote has stored what was pushed, and its answer was not read.
  public static let pushAfterSend = CrashPoint(rawValue: "push.after-send")
  public static let pullAfterReceive = CrashPoint(rawValue: "pull.after-receive")
  /// Some operations of a page are in the tables, and the cursor stands where it stood.
  public static let mergeBeforeCursor = CrashPoint(rawValue: "merge.before-cursor")
  public static let mergeBeforeCommit = CrashPoint(rawValue: "merge.before-commit")
  public static let mergeAfterCommit = CrashPoint(rawValue: "merge.after-commit")
  /// The server has written a push and not committed it.
  public static let serverBeforeCommit = CrashPoint(rawValue: "server.before-commit")
  /// The server has committed a push and not answered.
  public static let serverAfterCommit = CrashPoint(rawValue: "server.after-commit")

  /// Those that every replica and its server reach.
  public static let ofSync: [CrashPoint] = [
    .captureBeforeCommit, .captureAfterCommit, .sealBeforeLog, .sealBeforeCommit,
    .sealAfterCommit, .pushBeforeSend, .pushAfterSend, .pullAfterReceive, .mergeBeforeCursor,
    .mergeBeforeCommit, .mergeAfterCommit, .serverBeforeCommit, .serverAfterCommit,
  ]

  /// The server has made a snapshot the newest, and not committed it.
  public static let serverBeforeSnapshot = CrashPoint(rawValue: "server-keeping.before-snapshot")
  /// A snapshot is the newest, and whoever uploaded it was not told.
  public static let serverAfterSnapshot = CrashPoint(rawValue: "server-keeping.after-snapshot")
  /// The server has trimmed a space, and not committed it.
  public static let serverBeforeTrim = CrashPoint(rawValue: "server-keeping.before-trim")

  /// Those that a server reaches beside its requests to push and pull.
  public static let ofServerKeeping: [CrashPoint] = [
    .serverBeforeSnapshot, .serverAfterSnapshot, .serverBeforeTrim,
  ]

  /// A part of a snapshot is in its file, and not all are.
  public static let snapshotPartStored = CrashPoint(rawValue: "snapshot.part-stored")
  /// A snapshot is in the place of the state, and the transaction is still open.
  public static let snapshotBeforeCommit = CrashPoint(rawValue: "snapshot.before-commit")

  /// Those of a replica that loads one.
  public static let ofSnapshots: [CrashPoint] = [.snapshotPartStored, .snapshotBeforeCommit]

  /// A job's file is copied and synced, and no job has it.
  public static let jobAfterCopy = CrashPoint(rawValue: "job.after-copy")
  /// A job is written, and its caller's transaction is still open.
  public static let jobBeforeEnqueueCommit = CrashPoint(rawValue: "job.before-enqueue-commit")
  public static let jobAfterEnqueueCommit = CrashPoint(rawValue: "job.after-enqueue-commit")
  /// The worker's claim is durable, and no handler runs yet.
  public static let jobAfterClaim = CrashPoint(rawValue: "job.after-claim")
  /// A step's result and its rows are written, and the transaction is still open.
  public static let jobBeforeStepCommit = CrashPoint(rawValue: "job.before-step-commit")
  public static let jobAfterStepCommit = CrashPoint(rawValue: "job.after-step-commit")
  /// How an attempt ended is written, and the transaction is still open.
  public static let jobBeforeFinishCommit = CrashPoint(rawValue: "job.before-finish-commit")
  public static let jobAfterFinishCommit = CrashPoint(rawValue: "job.after-finish-commit")
  /// No job has a file any more, and it is still there.
  public static let jobBeforeUnlink = CrashPoint(rawValue: "job.before-unlink")

  public static let ofJobs: [CrashPoint] = [
    .jobAfterCopy, .jobBeforeEnqueueCommit, .jobAfterEnqueueCommit, .jobAfterClaim,
    .jobBeforeStepCommit, .jobAfterStepCommit, .jobBeforeFinishCommit, .jobAfterFinishCommit,
    .jobBeforeUnlink,
  ]

  /// A transfer is noted in its job's row, and the system does not have it.
  public static let uploadBeforeBegin = CrashPoint(rawValue: "upload.before-begin")
  /// The system has it, and the attempt has not ended.
  public static let uploadAfterBegin = CrashPoint(rawValue: "upload.after-begin")
  /// Its answer is written, and the transaction is still open.
  public static let uploadBeforeStore = CrashPoint(rawValue: "upload.before-store")
  /// Its answer is durable, and the system was not told to forget it.
  public static let uploadAfterStore = CrashPoint(rawValue: "upload.after-store")

  /// Those of what jobs hand over.
  public static let ofUploads: [CrashPoint] = [
    .uploadBeforeBegin, .uploadAfterBegin, .uploadBeforeStore, .uploadAfterStore,
  ]

  /// The triggers are away for a migration, the rows are kept, and the transaction is still open.
  public static let openBeforeLift = CrashPoint(rawValue: "open.before-lift")
  /// The triggers are away, and the migration has not begun.
  public static let openAfterLift = CrashPoint(rawValue: "open.after-lift")
  /// A migration is durable, and the triggers are still away.
  public static let openAfterMigration = CrashPoint(rawValue: "open.after-migration")
  /// What others wrote after a death in a migration is noted, and the transaction is still open.
  public static let openAfterRecovery = CrashPoint(rawValue: "open.after-recovery")
  /// The rows of a table that did not sync before are noted, and the transaction is still open.
  public static let openAfterAdoption = CrashPoint(rawValue: "open.after-adoption")
  /// All that opening does is written, and the transaction is still open.
  public static let openBeforeCommit = CrashPoint(rawValue: "open.before-commit")
  public static let openAfterCommit = CrashPoint(rawValue: "open.after-commit")

  /// Those of an opening that migrates, recovers or adopts.
  public static let ofOpening: [CrashPoint] = [
    .openBeforeLift, .openAfterLift, .openAfterMigration, .openAfterRecovery, .openAfterAdoption,
    .openBeforeCommit, .openAfterCommit,
  ]

  /// All that Tern itself reaches.
  public static let ofTern =
    ofSync + ofServerKeeping + ofSnapshots + ofJobs + ofUploads + ofOpening
}
