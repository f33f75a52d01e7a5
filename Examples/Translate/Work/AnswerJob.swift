import Foundation
import GRDB
import Tern

/// The first question that waits is put to the service.
struct AnswerJob: Job {
  static let kind = "translate.answer"
  static let service: String? = "translation"

  let phrase: String
}

/// What the jobs do.
struct Translator: Sendable {
  let database: TranslateDatabase
  let path: any NetworkPathSource
  /// Of whatever service the settings name.
  let key: String?

  /// After the first attempt; the waits are those of the job's policy.
  private static let retries = 3

  /// That a question has no translation is an answer, too: the next one's turn comes either way, and
  /// before that nobody else's.
  func answer(_ job: AnswerJob, _ context: JobContext) async throws {
    let database = database
    let (entry, settings, known) = try await database.pool.read { db in
      let (entry, settings) = (try Entry.find(job.phrase, in: db), try Settings(in: db))
      // An earlier one in the line may have been the same.
      let known = try entry.flatMap { entry in
        try database.cached(
          Question(
            text: entry.text, source: entry.from, target: entry.to,
            conversation: entry.conversation, model: settings[.model]), in: db)
      }
      return (entry, settings, known)
    }
    let model = settings[.model]
    _ = try await context.step("answer") {
      guard let entry else { return Answer() }
      if let known { return known }
      do {
        let service = GeminiService(
          URL(string: settings[.service])!, model: model, key: key)
        return try await service.translate(entry.text, from: entry.from, to: entry.to)
      } catch let final as GeminiService.Final {
        return Answer(problem: final.problem.rawValue, detail: final.detail)
      } catch let error where isLast(error, attempt: context.attempt) {
        let isBroken = (error as? JobFailure)?.message == Problem.broken.rawValue
        let problem = isBroken ? Problem.broken : .overloaded
        return Answer(problem: problem.rawValue, detail: isBroken ? nil : "\(error)")
      }
    } commit: { db, answer in
      try database.settle(job.phrase, answer, model: model, in: db)
      try database.goOn(after: context.id, in: db)
    }
  }

  /// Whether an attempt's failure counts, and no further one is due.
  private func isLast(_ error: any Error, attempt: Int) -> Bool {
    if error is CancellationError { return false }
    let isUsedUp = attempt > Self.retries
    return switch (error as? any AdvisingError)?.advice {
    case .permanent: true
    case .unreachable, .limited: false
    case .interrupted(let isLocal): isUsedUp && (isLocal || path.path.hasRoute)
    case .failed, nil: isUsedUp
    }
  }

  var worker: JobWorker {
    JobWorker(database.jobs, concurrency: 1, path: path) {
      $0.handle(AnswerJob.self) { try await answer($0, $1) }
    }
  }
}
