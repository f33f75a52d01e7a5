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
    let payload = try JobCoding.encode(job)
    guard payload.count <= limits.payloadBytes else {
      throw JobQueueError(
        .payloadTooLarge,
        "a \(J.kind) has \(payload.count) bytes, and the limit is \(limits.payloadBytes); put "
          + "large content into a file")
    }
    try JobQueueError.refuseNull(in: J.kind, "the kind of a job")
    for (key, noun) in [
      (unique?.key, "unique key"), (lane, "lane"), (service, "service"),
      (requirement.endpoint, "endpoint"),
    ] {
      guard let key else { continue }
      let what = "the \(noun) of a \(J.kind)"
      guard key.utf8.count <= limits.keyBytes else {
        throw JobQueueError(
          .keyTooLong,
          "\(what) has \(key.utf8.count) bytes, and the limit is \(limits.keyBytes); take a "
            + "shorter one")
      }
      try JobQueueError.refuseNull(in: key, what)
    }
    let now = environment.now
    let new = NewJob(
      kind: J.kind, service: service, lane: lane ?? "", requirement: requirement, payload: payload,
      version: J.version,
      priority: priority, key: unique?.key,
      ready: delay > .zero ? environment.time(after: delay) : now)
    if unique == nil, files.isEmpty, db.isInsideTransaction {
      return try enqueueAlone(new, after: delay, at: now, in: db)
    }
    var id = JobID(rawValue: 0)
    var given: [JobFile] = []
    do {
      try db.inSavepoint {
        let rows = try JobRows(db, limits: limits, events: events)
        switch try rows.standIn(of: new, unique) {
        case .skipped(let other)?:
          id = other
          return .commit
        case .replaced(let other, let older)?:
          id = other
          folder.unlink(try rows.replace(id, by: new, at: now), afterCommitOf: db)
          for older in older {
            guard let found = try rows.life(older) else { continue }
            try rows.observe(.cancelled, of: older, found.service, if: .ended)
            folder.unlink(try rows.cancel(older, found, at: now), afterCommitOf: db)
          }
          try db.notifyChanges(in: Table(JobTables.job))
          try rows.observeEnqueued(.replaced(delay: max(delay, .zero)), of: id, new, at: now)
        case nil:
          id = try rows.insert(new, at: now)
          try rows.observeEnqueued(.enqueued(delay: max(delay, .zero)), of: id, new, at: now)
        }
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

  /// What is one row needs no savepoint: a limit refuses it before anything is written.
  private func enqueueAlone(
    _ new: NewJob, after delay: Duration, at now: WallTime, in db: Database
  ) throws -> JobID {
    let rows = JobRows(unlooked: db, limits: limits, events: events)
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

  private func take(_ file: JobFile, for job: JobID, _ rows: JobRows) throws {
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

extension JobRows {
  fileprivate enum StandIn {
    case skipped(JobID)
    /// And the others of its key, which end.
    case replaced(JobID, [JobID])
  }

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
