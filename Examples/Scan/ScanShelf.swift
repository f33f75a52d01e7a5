import Foundation
import GRDB
import Tern

/// One photograph on its way into the library.
struct ScanShelf: Job {
  static let kind = "scan.shelf"
  static let service: String? = "scan service"

  /// The row of `scan`.
  let scan: String

  /// Files of the job: what was taken, and what is sent.
  static let taken = "taken"
  static let prepared = "prepared"
}

/// Removes at the service what a scan has left there. A job of its own: the scan is done without.
struct CleanUp: Job {
  static let kind = "scan.clean-up"
  static let service: String? = "scan service"

  let ticket: Talaria.Ticket
}

/// What the jobs do.
struct Scanner: Sendable {
  let database: ScanDatabase
  let service: Talaria
  /// For the stream of one job, over all attempts and restarts.
  let streamLimit: Duration

  /// How often the service is asked for a job, when it keeps losing or failing them.
  private static let mostRounds = 3

  /// Each step is done once, whatever happens between two of them.
  func scan(_ job: ScanShelf, _ context: JobContext) async throws {
    try await prepare(context)
    let round = try await context.value("round", as: Int.self) ?? 1
    let ticket = try await context.step("create \(round)") {
      try await send(try context.file(ScanShelf.prepared), job)
    } commit: { db, ticket in
      try db.execute(
        sql: "UPDATE scan SET phase = 'analysing', isSending = FALSE WHERE id = ?",
        arguments: [job.scan])
      if let quota = ticket.quota { try Setting.quota.set(quota, in: db) }
    }
    do {
      let end = try await follow(ticket, round, job, context)
      try await collect(end, ticket, round, job, context)
    } catch let error where isLost(error) {
      try await beginAgain(after: round, ticket, job, context, error)
    }
    _ = try await context.step("finish") {
      true
    } commit: { db, _ in
      try db.execute(sql: "UPDATE scan SET phase = 'done' WHERE id = ?", arguments: [job.scan])
      try database.jobs.enqueue(CleanUp(ticket: ticket), in: db)
    }
  }

  func cleanUp(_ job: CleanUp, _ context: JobContext) async throws {
    try CrashPoint.reach(.scanBeforeCleanUp)
    try await service.cleanUp(job.ticket)
    try CrashPoint.reach(.scanAfterCleanUp)
  }

  private func prepare(_ context: JobContext) async throws {
    _ = try await context.step("prepare") { files in
      let target = files.create(ScanShelf.prepared)
      try await PhotoPreparation.run(
        from: try context.file(ScanShelf.taken).path, to: target.path)
      files.release(ScanShelf.taken)
      return true
    }
  }

  /// Asks for a job. Where the answer is lost, by the network or by a crash, the service may have
  /// one of which nobody here knows: the next attempt finds the mark, and counts it.
  private func send(_ photo: URL, _ job: ScanShelf) async throws -> Talaria.Ticket {
    try await database.pool.write { db in
      try db.execute(
        sql: """
          UPDATE scan SET phase = 'uploading', timesLost = timesLost + isSending, isSending = TRUE
          WHERE id = ?
          """, arguments: [job.scan])
    }
    do {
      try CrashPoint.reach(.scanBeforeSend)
      return try await service.create(photo)
    } catch let error as any AdvisingError
      where error is HTTPProblem || error.advice == .unreachable
    {
      // The service said no, or was not there.
      try await database.pool.write { db in
        try db.execute(sql: "UPDATE scan SET isSending = FALSE WHERE id = ?", arguments: [job.scan])
      }
      throw error
    }
  }

  // MARK: - The stream

  private struct End: Codable, Sendable {
    var books: [FoundBook]?
    var unreadable = 0
    var resultsURL: String?
  }

  /// Reads events until the last one, from where an earlier attempt, or an earlier life of this
  /// program, stopped.
  private func follow(
    _ ticket: Talaria.Ticket, _ round: Int, _ job: ScanShelf, _ context: JobContext
  ) async throws -> End {
    try await context.step("stream \(round)") {
      let left = try await context.deadline("stream \(round)", streamLimit)
      // The service may have finished without being heard: its results decide.
      guard left > .zero else { return End() }
      let last = try await context.value("event \(round)", as: String.self)
      let request = try service.stream(ticket, within: left)
      // A service that has nothing more to say has its results.
      guard
        let events = try await EventStream.open(
          request, after: last ?? "", over: service.transport)
      else { return End() }
      for try await event in events {
        try CrashPoint.reach(.scanAfterEvent)
        if event.name == "error" { throw EventProblem(event, to: request) }
        if let end = try await handle(event, round, job, context) { return end }
      }
      throw ServiceError(.interrupted(isLocal: false), "the event stream ended before the scan did")
    }
  }

  private func handle(
    _ event: ServerEvent, _ round: Int, _ job: ScanShelf, _ context: JobContext
  ) async throws -> End? {
    let data = Data(event.data.utf8)
    switch event.name {
    case "progress":
      if let progress = try? JSONDecoder().decode(Progress.self, from: data) {
        try await context.report(progress: progress.fraction, message: progress.words)
      }
    case "result":
      let book = try? JSONDecoder().decode(FoundBook.self, from: data)
      try await context.save("event \(round)", event.id) { db in
        // One that can't be read is in the results, which are asked for at the end.
        if let book { try book.record(for: job.scan, in: db) } else { try warn(job, in: db) }
      }
    case "enrichment_degraded":
      try await context.save("event \(round)", event.id) { db in try warn(job, in: db) }
    case "complete", "completed":
      let end = try? JSONDecoder().decode(Complete.self, from: data)
      return End(
        books: end?.books?.books, unreadable: end?.books?.unreadable ?? 0,
        resultsURL: end?.resultsUrl)
    default: break
    }
    return nil
  }

  private func warn(_ job: ScanShelf, in db: Database) throws {
    try db.execute(
      sql: "UPDATE scan SET warnings = warnings + 1 WHERE id = ?", arguments: [job.scan])
  }

  // MARK: - The end

  /// The books of the last event or, where it has none or leads to more, of the results. A scan is not done before
  /// one of the two was read.
  private func collect(
    _ end: End, _ ticket: Talaria.Ticket, _ round: Int, _ job: ScanShelf, _ context: JobContext
  ) async throws {
    _ = try await context.step("results \(round)") {
      let books = try await books(of: end, ticket)
      try CrashPoint.reach(.scanAfterResults)
      return books
    } commit: { (db, end: End) in
      for book in end.books ?? [] { try book.record(for: job.scan, in: db) }
      for _ in 0..<end.unreadable { try warn(job, in: db) }
    }
  }

  private func books(of end: End, _ ticket: Talaria.Ticket) async throws -> End {
    if let books = end.books, !books.isEmpty || end.resultsURL == nil { return end }
    let results = try await service.results(ticket, at: end.resultsURL)
    if results.isFailed {
      throw ServiceError(.failed, "the service could not scan the photo", meansLost: true)
    }
    guard let found = results.found, results.isComplete else {
      throw ServiceError(.failed, "the scan isn't finished at the service")
    }
    return End(books: found.books, unreadable: found.unreadable)
  }

  private func isLost(_ error: any Error) -> Bool {
    switch error {
    case let problem as HTTPProblem: problem.meansLost
    case let problem as EventProblem: problem.advice == .failed
    case let error as ServiceError: error.meansLost
    default: false
    }
  }

  private func beginAgain(
    after round: Int, _ ticket: Talaria.Ticket, _ job: ScanShelf, _ context: JobContext,
    _ error: any Error
  ) async throws -> Never {
    try await context.save("round", round + 1) { db in
      try db.execute(
        sql: "UPDATE scan SET phase = 'waiting' WHERE id = ?", arguments: [job.scan])
      try database.jobs.enqueue(CleanUp(ticket: ticket), in: db)
    }
    // Whoever tries it again has as many rounds again.
    if round.isMultiple(of: Self.mostRounds) {
      throw ServiceError(.permanent, "the service lost the scan \(round) times: \(error)")
    }
    throw ServiceError(.failed, "asking for a new job: \(error)")
  }

  private struct Progress: Decodable {
    var message: String?
    var status: String?
    var progress: Double?
    var processedCount: Int?
    var totalCount: Int?
    var currentItem: String?

    var words: String {
      [message ?? status, currentItem].compactMap { $0 }.joined(separator: " ")
    }

    /// The service says 0 to 1 or 0 to 100, or counts.
    var fraction: Double? {
      if let progress { return min(max(progress > 1 ? progress / 100 : progress, 0), 1) }
      guard let processedCount, let totalCount, totalCount > 0 else { return nil }
      return min(max(Double(processedCount) / Double(totalCount), 0), 1)
    }
  }

  private struct Complete: Decodable {
    var books: FoundBooks?
    var resultsUrl: String?
  }
}
