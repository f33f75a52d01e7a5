import Foundation
import GRDB
import Tern
import TernJobs
import TernNetwork

/// The first question that waits for a service is put to it. Each service has a gate of its own, by its
/// address: what one of them wants holds up no other's questions.
struct AnswerJob: Job {
  static let kind = "translate.answer"

  let phrase: String
  let service: String
}

/// What the jobs do.
struct Translator: Sendable {
  let database: TranslateDatabase
  let path: any NetworkPathSource
  /// Of whatever services are asked.
  let key: String?
  /// Where there is one.
  var own: OwnInterpreter?
  /// Told of a question and as much of its answer as there is.
  var onPart: (@Sendable (String, String) -> Void)?

  /// For how long what is not the service may answer in its place: a portal lets nobody wait for so
  /// long, and a wrong address for ever.
  private static let patience = TimeInterval(7 * 86_400)

  /// After the first attempt; the waits are those of the job's policy.
  private static let retries = 3
  /// How many services are asked at the same time.
  private static let services = 8

  /// That a question has no translation is an answer, too: the next one's turn comes either way, and
  /// before that nobody else's.
  func answer(_ job: AnswerJob, _ context: JobContext) async throws {
    let database = database
    let before = path.path
    let (entry, model, known) = try await database.pool.read { db in
      let (entry, model) = (
        try Entry.find(job.phrase, in: db), try database.model(of: job.phrase, in: db)
      )
      // An earlier one in the line may have been the same.
      let known = try entry.flatMap {
        try database.cached($0.text, from: $0.from, to: $0.to, model: model, in: db)
      }
      return (entry, model, known)
    }
    _ = try await context.step("answer") {
      guard let entry else { return Answer() }
      if let known { return known }
      do {
        let url = own?.url(of: job.service) ?? URL(string: job.service)
        guard let url else { throw URLError(.badURL) }
        let service = GeminiService(url, model: model, key: key)
        let tell = onPart.map { tell in { @Sendable in tell(job.phrase, $0) } }
        return try await service.translate(
          entry.text, from: entry.from, to: entry.to, onPart: tell)
      } catch let final as GeminiService.Final {
        return Answer(problem: final.problem.rawValue, detail: final.detail)
      } catch let error as HTTPError where error.code == .connectionRefused {
        throw JobFailure(.unreachable, Word.nobody.text(job.service))
      } catch let stranger as HTTPError where stranger.code == .notTheService {
        let since = try await database.strangerAnswers(at: job.service)
        // Who asks anew may have been told of it, and mended it.
        let waited = Date().timeIntervalSince(max(since, entry.askedDate))
        if waited >= Self.patience {
          return Answer(problem: Problem.elsewhere.rawValue, detail: stranger.detail)
        }
        throw JobFailure(.unreachable, "\(Word.portal.text): \(stranger.detail)")
      } catch let error
        where Self.isLast(error, attempt: context.attempt, before: before, after: path.path)
      {
        let isBroken = error is GeminiService.Broken
        let problem = isBroken ? Problem.broken : .overloaded
        return Answer(problem: problem.rawValue, detail: isBroken ? nil : "\(error)")
      }
    } commit: { db, answer in
      try database.settle(job.phrase, answer, model: model, in: db)
      if entry != nil, known == nil, answer.problem != Problem.elsewhere.rawValue {
        try database.serviceAnswers(at: job.service, in: db)
      }
      try database.goOn(with: job.service, in: db)
    }
  }

  /// Whether an attempt's failure counts, and no further one is due. What breaks off counts as a job's
  /// does: on this machine, or where there was one and the same network all the while.
  static func isLast(
    _ error: any Error, attempt: Int, before: NetworkPath, after: NetworkPath
  ) -> Bool {
    if error is CancellationError { return false }
    let isUsedUp = attempt > retries
    return switch (error as? any AdvisingError)?.advice {
    case .permanent: true
    case .unreachable, .limited: false
    case .interrupted(let isLocal): isUsedUp && (isLocal || (before.hasRoute && before == after))
    case .failed, nil: isUsedUp
    }
  }

  var worker: JobWorker {
    JobWorker(database.jobs, concurrency: Self.services, path: path) {
      $0.handle(AnswerJob.self) { try await answer($0, $1) }
    }
  }
}
