import ExampleService
import ExampleWork
import Foundation
import GRDB
import InterpreterClient
import InterpreterKit
import Tern
import TernJobs
import TernNetwork

/// A question is put to the service that the settings name; it passes that one's gate, by its address.
struct AnswerJob: Job {
  static let kind = "translate.answer"

  let phrase: String
}

/// What the jobs do.
struct Translator: Sendable {
  let database: TranslateDatabase
  var path: any NetworkPathSource = SystemPath.shared
  /// Of whatever service is asked: of the environment, and written nowhere.
  var key = ProcessInfo.processInfo.environment["GEMINI_API_KEY"].flatMap { $0.isEmpty ? nil : $0 }
  /// Where the interpreter runs in this process, in the place of the service that nobody chose.
  var own: URL?

  /// Runs `body` with one. Where nobody chose a service and none runs on this machine, the interpreter
  /// does meanwhile, which is said; and what is missing for it is said, too.
  static func using(
    _ database: TranslateDatabase, _ settings: Settings,
    _ body: @escaping @Sendable (Translator) async throws -> Void
  ) async throws {
    let usual = Setting.service.standard
    guard settings[.service] == usual else {
      return try await body(Translator(database: database))
    }
    try await StandIn.serving(for: usual) { url in
      let missing = Apertium.packages.joined(separator: " ")
      hint(url.map { Word.ownService.text($0) } ?? Word.noOwnService.text(missing))
    } _: { url in
      try await body(Translator(database: database, own: url))
    }
  }

  /// One at a time, in the order asked.
  var worker: JobWorker {
    JobWorker(database.jobs, concurrency: 1, path: path) {
      $0.handle(AnswerJob.self) { try await answer($0, $1) }
    }
  }

  /// That a question has no translation is an answer, too: the next one's turn comes either way.
  func answer(_ job: AnswerJob, _ context: JobContext) async throws {
    let (database, before) = (database, path.path)
    let (question, settings, known) = try await database.pool.read { db in
      let (question, settings) = (try database.waiting(job.phrase, in: db), try Settings(in: db))
      // One that was asked before may have been the same.
      let known = try question.flatMap {
        try database.cached($0, model: settings[.model], in: db)
      }
      return (question, settings, known)
    }
    _ = try await context.step("answer") {
      guard let question else { return Answer() }
      if let known { return known }
      let address = settings[.service]
      do {
        let standIn = address == Setting.service.standard ? own : nil
        guard let url = standIn ?? URL(string: address) else { throw URLError(.badURL) }
        let said = try await GeminiService(url, model: settings[.model], key: key).translate(
          question.text, from: question.source, to: question.target
        ) { part in
          // An answer does not fail because what there is of it can't be shown.
          do { try await context.report(progress: nil, message: part) } catch is DatabaseError {}
        }
        return Answer(
          text: said.text, source: said.source.flatMap { LanguageName.isKnown($0) ? $0 : nil },
          engine: said.engine, confidence: said.confidence, alternatives: said.alternatives)
      } catch GeminiError.noKey {
        throw JobFailure(.unreachable, Word.noKey.text)
      } catch let error as HTTPError where error.code == .connectionRefused {
        throw JobFailure(.unreachable, Word.nobody.text(address))
      } catch let stranger as HTTPError where stranger.code == .notTheService {
        throw JobFailure(.unreachable, "\(Word.portal.text): \(stranger.detail)")
      } catch let error
        where error.isLast(ofAttempt: context.attempt, on: before, then: path.path)
      {
        let (problem, detail) = (error as? GeminiError)?.problem ?? (.overloaded, "\(error)")
        return Answer(problem: problem.rawValue, detail: detail)
      }
    } commit: { db, answer in
      try database.settle(job.phrase, answer, model: settings[.model], in: db)
      try database.enqueueNext(in: db)
    }
  }

  /// Works until nothing is due within some seconds.
  ///
  /// - Parameter ids: those for which another program is waited for that does the work; `nil` for all.
  func drain(_ patience: TimeInterval = 300, for ids: [String]? = nil) async throws {
    let began = ContinuousClock.now
    while true {
      do {
        _ = try await worker.drain(whileDueWithin: patience, database.jobs, database.pool)
        return
      } catch let error as JobQueueError where error.code == .workerRunning {}
      let (now, waits) = try await database.pool.read { [database] db in
        let now = try Standing(database, in: db)
        return (
          now, try ids?.contains { try database.waiting($0, in: db) != nil } ?? (now.waiting > 0)
        )
      }
      let isLong = now.until.map { Double($0) / 1000 > Date().timeIntervalSince1970 + patience }
      // Its last word may be of a while ago.
      let isStuck =
        (isLong ?? (now.state == .unreachable)) && began.duration(to: .now) > .seconds(2)
      if !waits || isStuck { return }
      try await Task.sleep(for: .milliseconds(100))
    }
  }
}

extension TranslateDatabase {
  /// Answers a question with what is installed here, if it still waits.
  ///
  /// - Throws: ``Refusal`` where it can't; the question goes on waiting for the service then.
  func answerOffline(_ id: String, with apertium: Apertium) async throws {
    guard let asked = try await pool.read({ try waiting(id, in: $0) }) else { return }
    let answer: Answer
    do {
      let result = try await apertium.translate(
        asked.text, from: asked.source == "auto" ? nil : asked.source, to: asked.target)
      answer = Answer(
        text: result.text, source: result.source, engine: result.engine,
        confidence: result.confidence, isOffline: true)
    } catch let error as ApertiumError {
      throw Refusal("\(error)")
    }
    try await pool.write { db in
      try settle(id, answer, model: nil, in: db)
      try enqueueNext(in: db)
    }
  }

  /// Answers several so; what can't be is said.
  func answerOffline(_ ids: [String]) async throws {
    let apertium = Apertium()
    for id in ids {
      do { try await answerOffline(id, with: apertium) } catch let refusal as Refusal {
        hint(refusal.description.shown())
      }
    }
  }

  /// Answers so what the service can't be reached for, where the settings want it, until the task is
  /// cancelled. What can't be answered is asked once.
  func keepAnsweringOffline() async throws {
    var tried: Set<String> = []
    let stuck = ValueObservation.tracking { db -> [String] in
      guard try Settings(in: db)[.offline] == "on" else { return [] }
      let state = try Standing(self, in: db).state
      return state == .unreachable || state == .limited ? try asked(100, in: db) : []
    }
    for try await ids in stuck.values(in: pool, bufferingPolicy: .bufferingNewest(1)) {
      try await answerOffline(ids.filter { tried.insert($0).inserted })
    }
  }
}

/// How many of this device's questions wait, and for what the first of them does.
struct Standing: Encodable, Hashable, Sendable {
  enum State: String, Encodable {
    /// It is being asked, or will be at once.
    case asking
    case unreachable, limited, retrying
  }

  var waiting: Int
  var state = State.asking
  /// When it is asked again, in milliseconds since 1970.
  var until: Int64?
  var reason: String?

  init(_ database: TranslateDatabase, in db: Database) throws {
    waiting = try Int.fetchOne(db, sql: "SELECT count(*) \(TranslateDatabase.isWaiting)")!
    guard let job = try database.firstJob(in: db) else { return }
    let gate = try database.jobs.gates(in: db).first { $0.service == job.service }
    if let gate, gate.reopensAt > Date() {
      (state, until) = (.limited, Int64(gate.reopensAt.timeIntervalSince1970 * 1000))
    } else if job.state == .waiting, job.unreached > 0 {
      (state, reason) = (.unreachable, job.reason)
    } else if job.state == .waiting, job.failures > 0 {
      (state, reason) = (.retrying, job.reason)
      until = Int64(job.readyAt.timeIntervalSince1970 * 1000)
    }
  }

  /// For a person.
  var text: String {
    let seconds = until.map { max(0, $0 / 1000 - Int64(Date().timeIntervalSince1970)) } ?? 0
    var text = waiting == 0 ? Word.nothingWaits.text : Word.someWait.text(waiting)
    switch state {
    case .asking: break
    case .unreachable: text += "; " + Word.unreachable.text
    case .limited: text += "; " + Word.limited.text(seconds)
    case .retrying: text += "; " + Word.retries.text(seconds)
    }
    return (reason.map { "\(text): \($0)" } ?? text).shown()
  }
}
