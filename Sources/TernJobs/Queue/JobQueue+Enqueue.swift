import Foundation
import GRDB
@_spi(Rehearsal) import TernCore
import TernDatabase

extension JobQueue {
  /// Adds a job in the caller's transaction: it is there when that commits, with all else that the
  /// transaction wrote, or not at all. Outside of a transaction it is one by itself.
  ///
  /// - Parameters:
  ///   - priority: of the jobs that are due the greatest goes first, however long others wait.
  ///   - delay: not before that much time has passed.
  ///   - unique: what becomes of it when there is such a job already.
  ///   - lane: whose ``Job/lanePace`` it shares with others of its kind: an account, say,
  ///     or a host.
  ///   - service: whose gate it passes, where jobs of a kind go to several services; by default
  ///     that of ``Job/service``.
  ///   - requirement: what has to be there before it is started; by default what its type says.
  ///   - files: what ``attach(copyOf:as:)`` made; the job's from the commit on. What a job that is
  ///     skipped was given stays the caller's.
  /// - Returns: the new job's id, or that of the job that is in the queue in its place;
  ///   ``unfinished(_:uniqueBy:in:)``, asked before, tells which.
  /// - Throws: ``JobQueueError`` `.payloadTooLarge`, `.keyTooLong`, `.invalidName`, `.tooManyJobs`,
  ///   `.tooManyFiles`, `.duplicateFile`, `.fileInUse`, `.notInstalled`; `EncodingError`;
  ///   `DatabaseError`. Nothing of the job is written then, and the transaction can go on.
  @discardableResult
  public func enqueue<J: Job>(
    _ job: J, priority: Int = 0, after delay: Duration = .zero, unique: JobUniqueness? = nil,
    lane: String? = nil, service: String? = J.service,
    requires requirement: JobRequirement = J.requirement, files: [JobFile] = [], in db: Database
  ) throws -> JobID {
    let now = environment.now
    let new = try NewJob(
      job, limits, service: service, lane: lane, requires: requirement, priority: priority,
      key: unique?.key, ready: delay > .zero ? environment.time(after: delay) : now)
    if unique == nil, files.isEmpty, db.isInsideTransaction {
      return try enqueueAlone(new, after: delay, at: now, in: db)
    }
    var id = JobID(rawValue: 0)
    var given: [JobFile] = []
    do {
      try db.inSavepoint {
        let rows = try JobTransaction(db, limits: limits, events: events)
        let standIn = try rows.jobs.standIn(of: new, unique)
        if case .skipped(let other)? = standIn {
          id = other
          return .commit
        }
        id = try put(new, standIn, after: delay, at: now, rows)
        for file in files {
          try take(file, for: id, rows)
          given.append(file)
        }
        try reachCrashPoints(db)
        return .commit
      }
    } catch {
      for file in given { file.takeBack() }
      throw error
    }
    return id
  }

  /// Adds a job, or puts it in the place of another one.
  private func put(
    _ new: NewJob, _ standIn: StandIn?, after delay: Duration, at now: WallTime,
    _ rows: JobTransaction
  ) throws -> JobID {
    guard case .replaced(let id, let others)? = standIn else {
      let id = try rows.insert(new, at: now)
      try rows.observeEnqueued(.enqueued(delay: max(delay, .zero)), of: id, new, at: now)
      return id
    }
    folder.unlink(try rows.replace(id, by: new, at: now), afterCommitOf: rows.db)
    for other in others {
      guard let found = try rows.jobs.life(other) else { continue }
      try rows.observe(.cancelled, of: other, found.service, if: .ended)
      folder.unlink(try rows.cancel(other, found, at: now), afterCommitOf: rows.db)
    }
    try rows.db.notifyChanges(in: Table(JobTables.job))
    try rows.observeEnqueued(.replaced(delay: max(delay, .zero)), of: id, new, at: now)
    return id
  }

  /// What is one row needs no savepoint: a limit refuses it before anything is written.
  private func enqueueAlone(
    _ new: NewJob, after delay: Duration, at now: WallTime, in db: Database
  ) throws -> JobID {
    let rows = JobTransaction(unlooked: db, limits: limits, events: events)
    let id: JobID
    do {
      id = try rows.insert(new, at: now)
    } catch let error as DatabaseError {
      let meaning = try rows.missing(error)
      // Where the app's own trigger or a full disk refused the row, and the transaction goes on.
      if meaning is DatabaseError, db.isInsideTransaction { try rows.recountUnfinished() }
      throw meaning
    }
    try rows.observeEnqueued(.enqueued(delay: max(delay, .zero)), of: id, new, at: now)
    try reachCrashPoints(db)
    return id
  }

  private func reachCrashPoints(_ db: Database) throws {
    try CrashPoint.reach(.jobBeforeEnqueueCommit)
    #if Rehearsal
    db.afterNextTransaction { _ in
      // What is thrown here has nobody to go to: the commit has happened.
      try? CrashPoint.reach(.jobAfterEnqueueCommit)
    }
    #endif
  }

  private func take(_ file: JobFile, for job: JobID, _ rows: JobTransaction) throws {
    guard file.folder === folder else {
      throw JobQueueError(.fileInUse, "the file “\(file.name)” belongs to another queue")
    }
    try file.give(to: job, rows)
  }

  /// Copies a file for a job that is to be enqueued. The original can go afterwards.
  ///
  /// - Parameter name: what the job's handler asks for it by.
  /// - Returns: the copy, synced with the queue's durability.
  /// - Throws: ``JobQueueError`` `.fileTooLarge`, `.invalidName`, `.diskFull`, `.fileFailed`, with
  ///   nothing left behind; `CancellationError`.
  public func attach(copyOf original: URL, as name: String) async throws -> JobFile {
    try await attach(as: name) { durable, path, limit in
      try durable.copy(original.path(percentEncoded: false), to: path, maximumBytes: limit)
    }
  }

  /// Writes a file for a job that is to be enqueued: ``attach(copyOf:as:)`` for what is in memory.
  ///
  /// - Returns: the file, synced with the queue's durability.
  /// - Throws: as the other.
  public func attach(_ content: Data, as name: String) async throws -> JobFile {
    try await attach(as: name) { durable, path, limit in
      if content.count > limit { return false }
      try content.withUnsafeBytes { try durable.create(path, $0) }
      return true
    }
  }

  private func attach(
    as name: String, _ write: @Sendable (DurableFile, String, Int) throws -> Bool
  ) async throws -> JobFile {
    try JobQueueError.refuseNull(in: name, "the name of a file")
    let path = folder.newPath()
    let work = environment.isDriven() ? copying : BlockingWork.shared
    let isWhole = try await work.run {
      try reportingFile(name) {
        try write(durableFile, folder.absolute(path), limits.fileBytes)
      }
    }
    guard isWhole else { throw tooLarge(name) }
    let file = JobFile(name: name, path: path, folder: folder)
    try CrashPoint.reach(.jobAfterCopy)
    return file
  }

  /// Makes what a step wrote durable, before anybody names it.
  func settle(_ files: StepFiles) async throws {
    for file in files.created {
      let size = try await copying.run {
        try reportingFile(file.name) { try durableFile.settle(folder.absolute(file.path)) }
      }
      guard let size else {
        throw JobQueueError(.noSuchFile, "nothing was written to the file “\(file.name)”")
      }
      if size > limits.fileBytes { throw tooLarge(file.name) }
    }
  }

  var durableFile: DurableFile { DurableFile(isSynced: durability == .powerLoss) }

  func tooLarge(_ name: String) -> JobQueueError {
    JobQueueError(
      .fileTooLarge, "the file “\(name)” has more than \(limits.fileBytes) bytes; make it smaller")
  }

  /// Says of which file a failure is.
  func reportingFile<T>(_ name: String, _ body: () throws -> T) throws -> T {
    do {
      return try body()
    } catch let failure as FileFailure {
      throw failure.isDiskFull
        ? JobQueueError(
          .diskFull, "there is no room for the file “\(name)”; free some", underlyingError: failure)
        : JobQueueError(
          .fileFailed, "the file “\(name)” could not be stored", underlyingError: failure)
    }
  }
}

/// What a job that is unique finds there.
private enum StandIn {
  case skipped(JobID)
  /// And the others of its key, which end.
  case replaced(JobID, [JobID])
}

extension JobRows {
  /// The job that makes a new one needless, or that becomes it.
  fileprivate func standIn(of new: NewJob, _ unique: JobUniqueness?) throws -> StandIn? {
    switch unique {
    case .skip(let key)?:
      return try underWay(new.kind, key: key, in: [.waiting, .running, .parked]).first
        .map(StandIn.skipped)
    case .replace(let key)?:
      let found = try underWay(new.kind, key: key, in: [.waiting, .parked])
      return found.first.map { .replaced($0, Array(found.dropFirst())) }
    case nil: return nil
    }
  }
}
