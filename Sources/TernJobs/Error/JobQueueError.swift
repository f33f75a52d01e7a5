import Foundation
import TernCore

/// Why a queue did not do what was asked. Nothing of it was done.
public struct JobQueueError: Error, Sendable {
  public struct Code: Hashable, Sendable {
    package enum Reason: String, Sendable {
      case notInstalled, newerFormat, olderFormat, workerRunning, payloadTooLarge, tooManyJobs
      case keyTooLong, invalidName
      case fileTooLarge, tooManyFiles, duplicateFile, fileInUse, noSuchFile, diskFull, fileFailed
      case folderInUse
      case tooManyCheckpoints, checkpointTooLarge, duplicateStep, unreadable, notRunning
      case transactionEnded
    }
    package let reason: Reason

    /// The queue's tables are missing, e.g. because the app erased its database: open it again.
    public static let notInstalled = Code(reason: .notInstalled)
    /// A newer Tern made the queue's tables.
    public static let newerFormat = Code(reason: .newerFormat)
    /// A Tern before the first release made the queue's tables.
    public static let olderFormat = Code(reason: .olderFormat)
    /// Another worker, of this process or another, works on the same database.
    public static let workerRunning = Code(reason: .workerRunning)
    /// Over ``JobLimits/payloadBytes``.
    public static let payloadTooLarge = Code(reason: .payloadTooLarge)
    /// Over ``JobLimits/keyBytes``.
    public static let keyTooLong = Code(reason: .keyTooLong)
    /// A name or a key holds U+0000, behind which SQLite's functions do not read on.
    public static let invalidName = Code(reason: .invalidName)
    /// ``JobLimits/jobs`` that have not ended are there already, or with ``JobLimits/followUps``
    /// for what a running job's commit enqueues. A job that fails of it waits until others have
    /// ended, at no cost in attempts; one whose commit would not fit even then fails for good.
    public static let tooManyJobs = Code(reason: .tooManyJobs)
    /// Over ``JobLimits/fileBytes``.
    public static let fileTooLarge = Code(reason: .fileTooLarge)
    /// Over ``JobLimits/filesPerJob``.
    public static let tooManyFiles = Code(reason: .tooManyFiles)
    /// Two files of one job have the same name.
    public static let duplicateFile = Code(reason: .duplicateFile)
    /// The file belongs to a job already, or to another queue.
    public static let fileInUse = Code(reason: .fileInUse)
    /// The folder for files is that of another database, which exists.
    public static let folderInUse = Code(reason: .folderInUse)
    /// The job has no file of that name, or it was released.
    public static let noSuchFile = Code(reason: .noSuchFile)
    /// The disk is full; nothing is left of what was copied.
    public static let diskFull = Code(reason: .diskFull)
    /// A file could not be read or written: see ``JobQueueError/underlyingError``.
    public static let fileFailed = Code(reason: .fileFailed)
    /// Over ``JobLimits/checkpointsPerJob``.
    public static let tooManyCheckpoints = Code(reason: .tooManyCheckpoints)
    /// Over ``JobLimits/checkpointBytes``.
    public static let checkpointTooLarge = Code(reason: .checkpointTooLarge)
    /// Two steps of one job had the same name at the same time.
    public static let duplicateStep = Code(reason: .duplicateStep)
    /// What an earlier attempt stored is not of the type that is asked for. The job is parked.
    public static let unreadable = Code(reason: .unreadable)
    /// A statement in a step's `commit` rolled the whole transaction back, by a conflict clause or
    /// a trigger that says ROLLBACK, and its error was not thrown on.
    public static let transactionEnded = Code(reason: .transactionEnded)
    /// The job was removed or cancelled, or another attempt has it.
    public static let notRunning = Code(reason: .notRunning)
  }

  public let code: Code
  /// What happened to what, and the way out.
  public let message: String
  public let underlyingError: (any Error)?
  /// Of `.tooManyJobs`; `nil` where nobody's end would make enough room.
  var full: Full?

  /// How many jobs of which queue had not ended.
  struct Full: Sendable {
    /// Its random id.
    let queue: String
    let count: Int
    /// Whether the transaction that was refused had added none of them.
    var isBefore = false
  }

  package init(_ code: Code, _ message: String, underlyingError: (any Error)? = nil) {
    self.code = code
    self.message = message
    self.underlyingError = underlyingError
  }
}

extension JobQueueError {
  static var transactionEnded: JobQueueError {
    JobQueueError(
      .transactionEnded,
      "a statement of the step's commit ended its transaction (ROLLBACK in a conflict clause or a "
        + "trigger): throw its error on, or let it say ABORT")
  }

  /// - Parameter limit: ``JobLimits/jobs`` and ``JobLimits/followUps``.
  static func neverFits(in limit: Int, of job: JobID) -> JobQueueError {
    JobQueueError(
      .tooManyJobs,
      "job \(job) enqueues so many in one commit that there would be more than "
        + "\(limit) jobs that have not ended, even if all others had; enqueue fewer at once")
  }

  static func duplicateStep(_ name: String, of job: JobID) -> JobQueueError {
    JobQueueError(
      .duplicateStep, "job \(job) does two steps “\(name)” at once; give each its own name")
  }

  /// Two names that are the same up to there would be found as one.
  static func refuseNull(in name: String, _ what: String) throws {
    guard name.utf8.contains(0) else { return }
    throw JobQueueError(.invalidName, "\(what) holds U+0000; take it out")
  }
}

extension JobQueueError: CustomStringConvertible {
  public var description: String {
    message + (underlyingError.map { ": \($0)" } ?? "") + " (\(code.reason.rawValue))"
  }
}

extension JobQueueError: AdvisingError {
  public var advice: FailureAdvice {
    switch code.reason {
    case .diskFull, .fileFailed, .transactionEnded: .failed
    // Room comes as others end, be it after hours: in its own queue a job waits for that.
    case .tooManyJobs: full == nil ? .permanent : .unreachable
    default: .permanent
    }
  }
}

extension JobQueueError: LocalizedError {}

extension JobQueueError.Code: CustomStringConvertible {
  public var description: String { reason.rawValue }
}
