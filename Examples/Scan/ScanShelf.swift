import ExampleService
import Foundation
import GRDB
import RecognizerKit
@_spi(Rehearsal) import Tern
import TernJobs
import TernNetwork

/// One photograph on its way into the library; the row of `scan` has the job's number.
struct ScanShelf: Job {
  static let kind = "scan.shelf"
  static let service: String? = "scan service"

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
  /// More than a photo of bookshelves shows.
  private static let mostBooks = 1_000

  /// Each step is done once, whatever happens between two of them.
  func scan(_ context: JobContext) async throws {
    _ = try await context.step("prepare") { files in
      let target = files.create(ScanShelf.prepared)
      try await PictureHeader.shrink(context.file(ScanShelf.taken), to: target, longestSide: 1920)
      files.release(ScanShelf.taken)
      return true
    }
    let round = try await context.value("round", as: Int.self) ?? 1
    let ticket = try await context.step("create \(round)") {
      try await send(context.file(ScanShelf.prepared), context)
    } commit: { db, ticket in
      try update("phase = 'analysing'", context, in: db)
      guard let quota = ticket.quota else { return }
      // A service that does not say so counts by the day, as the contract has it by UTC.
      try db.execute(
        sql: """
          UPDATE device SET quota = ?,
            quotaEnds = coalesce(?, CAST(strftime('%s', 'now', 'start of day', '+1 day') AS INTEGER))
          """, arguments: [quota, ticket.quotaEnds])
    }
    do {
      let end = try await follow(ticket, round, context)
      try await collect(end, ticket, round, context)
    } catch let error where Talaria.meansLost(error) {
      try await beginAgain(after: round, ticket, context, error)
    }
  }

  private func update(_ assignments: String, _ context: JobContext, in db: Database) throws {
    try db.execute(
      sql: "UPDATE scan SET \(assignments) WHERE id = ?", arguments: [context.id.rawValue])
  }

  /// Asks for a job. Where the answer is lost, by the network or by a crash, the service may have
  /// one of which nobody here knows: the next attempt finds the mark, and counts it.
  private func send(_ photo: URL, _ context: JobContext) async throws -> Talaria.Ticket {
    if try await phase(context) == Self.elsewhere { try await service.look() }
    try await database.pool.write { db in
      try update(
        "timesLost = timesLost + (phase = 'uploading'), phase = 'uploading'", context, in: db)
    }
    do {
      try CrashPoint.reach(.scanBeforeSend)
      return try await service.create(photo)
    } catch let error
      where ((error as? HTTPProblem)?.mayHaveArrived ?? (error as? HTTPError)?.mayHaveArrived)
      == false
    {
      // The service said no, or never had the whole photo: that matters more than a wrong count.
      let isElsewhere = (error as? HTTPError)?.code == .notTheService
      let phase = isElsewhere ? Self.elsewhere : "waiting"
      try? await database.pool.write { try update("phase = '\(phase)'", context, in: $0) }
      throw error
    }
  }

  /// The phase of a photo that was sent to somebody who answered in the service's place.
  private static let elsewhere = "elsewhere"

  private func phase(_ context: JobContext) async throws -> String? {
    try await database.pool.read { db in
      try String.fetchOne(
        db, sql: "SELECT phase FROM scan WHERE id = ?", arguments: [context.id.rawValue])
    }
  }

  // MARK: - The stream

  /// Reads events until the last one, from where an earlier attempt, or an earlier life of this
  /// program, stopped.
  ///
  /// - Returns: what the last one says; nothing where the service may have finished unheard, or has
  ///   nothing more to say: its results decide then.
  private func follow(
    _ ticket: Talaria.Ticket, _ round: Int, _ context: JobContext
  ) async throws -> Talaria.News {
    try await context.step("stream \(round)") {
      let left = try await context.remaining("stream \(round)", of: streamLimit)
      let last = try await context.value("event \(round)", as: String.self)
      guard left > .zero,
        let (request, events) = try await service.events(ticket, after: last, within: left)
      else { return Talaria.News() }
      for try await event in events {
        try CrashPoint.reach(.scanAfterEvent)
        switch event.name {
        case "progress":
          // Nothing depends on it, so one that can't be read is passed over.
          guard let news = event.json(Talaria.News.self) else { break }
          try await context.report(progress: news.fraction, message: news.text)
        // A book that can't be read is in the results, too, and counted there.
        case "result" where event.json(FoundBook.self) == nil: break
        case "result", "enrichment_degraded":
          let book = event.name == "result" ? event.json(FoundBook.self) : nil
          try await context.save("event \(round)", event.id) { try keep(book, context, in: $0) }
        case "complete", "completed": return event.json() ?? Talaria.News()
        case "error": throw EventProblem(event, to: request)
        default: break
        }
      }
      // A service that has told all, and keeps it no longer, ends the stream at once.
      if try await hasFinished(ticket) { return Talaria.News() }
      throw JobFailure(.interrupted(isLocal: false), "the event stream ended before the scan did")
    }
  }

  /// Whether the service has a scan's results. What else it says is for the stream to say.
  private func hasFinished(_ ticket: Talaria.Ticket) async throws -> Bool {
    do {
      _ = try await service.results(ticket, at: nil)
      return true
    } catch let error as any AdvisingError
      where error.advice == .failed || error.advice == .permanent
    {
      return false
    }
  }

  private func keep(_ book: FoundBook?, _ context: JobContext, in db: Database) throws {
    guard let book else { return try update("warnings = warnings + 1", context, in: db) }
    try book.record(for: context.id.rawValue, in: db)
    let found = try Int.fetchOne(
      db, sql: "SELECT count(*) FROM find WHERE scan = ?", arguments: [context.id.rawValue])
    guard found ?? 0 <= Self.mostBooks else {
      throw JobFailure(
        .permanent,
        "the service names more than \(Self.mostBooks) books for one photo; those of this answer "
          + "were not taken")
    }
  }

  // MARK: - The end

  /// The books of the last event or, where it has none or leads to more, of the results. A scan is
  /// not done before one of the two was read.
  private func collect(
    _ end: Talaria.News, _ ticket: Talaria.Ticket, _ round: Int, _ context: JobContext
  ) async throws {
    // No step: its result would be all books, of which there may be more than one stores.
    let mark = "results \(round)"
    if try await context.value(mark, as: Bool.self) ?? false { return }
    let isWhole = end.resultsUrl == nil || end.books?.elements.isEmpty == false
    let found =
      if isWhole, let told = end.books { told } else {
        try await service.results(ticket, at: end.resultsUrl)
      }
    try CrashPoint.reach(.scanAfterResults)
    try await context.save(mark, true) { db in
      for book in found.elements { try keep(book, context, in: db) }
      try database.jobs.enqueue(CleanUp(ticket: ticket), in: db)
    }
  }

  private func beginAgain(
    after round: Int, _ ticket: Talaria.Ticket, _ context: JobContext, _ error: any Error
  ) async throws -> Never {
    try await context.save("round", round + 1) { db in
      try update("phase = 'waiting'", context, in: db)
      try database.jobs.enqueue(CleanUp(ticket: ticket), in: db)
    }
    // Whoever tries it again has as many rounds again.
    throw round.isMultiple(of: Self.mostRounds)
      ? JobFailure(.permanent, "the service lost the scan \(round) times: \(error)")
      : JobFailure(.failed, "asking for a new job: \(error)")
  }
}

extension ToolError: AdvisingError {
  package var advice: FailureAdvice { isMissing ? .permanent : .failed }
}

extension UnfitPicture: AdvisingError {
  public var advice: FailureAdvice { .permanent }
}
