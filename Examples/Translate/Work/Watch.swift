#if Server
import Foundation
import GRDB
import InterpreterKit
import Synchronization
import Tern

/// Works on what waits until questions are answered, or it is known that they can't be now.
struct Watch: Sendable {
  enum End: Sendable {
    case answered
    /// The service can't be reached.
    case offline(String)
    /// By SIGINT or SIGTERM.
    case stopped
  }

  let database: TranslateDatabase
  let key: String?

  /// Another process may be the one that works, and its commits are seen by looking only.
  private static let interval = Duration.milliseconds(30)
  /// After which the last word of a worker that tries nothing new is believed: another process's.
  private static let patience = Duration.seconds(2)

  /// - Parameters:
  ///   - usesOffline: whether what is installed here answers where the service can't be reached.
  ///   - news: called at each look with the answers that came since, in the order of the questions,
  ///     and with how the work stands.
  func follow(
    _ ids: [String], usesOffline: Bool,
    news: @escaping @Sendable ([Entry?], Standing) throws -> Void
  ) async throws -> End {
    let told = Mutex(0)
    let counted: @Sendable ([Entry?], Standing) throws -> Void = { entries, standing in
      try news(entries, standing)
      told.withLock { $0 += entries.count }
    }
    let end = try await follow(ids, endsLimited: usesOffline, counted)
    guard case .offline = end, usesOffline else { return end }
    let left = Array(ids.dropFirst(told.withLock { $0 }))
    try await answerOffline(left)
    return try await follow(left, endsLimited: false, counted)
  }

  /// - Parameter endsLimited: whether a service that wants a pause counts as one that can't be reached.
  private func follow(
    _ ids: [String], endsLimited: Bool,
    _ news: @escaping @Sendable ([Entry?], Standing) throws -> Void
  ) async throws -> End {
    // Before anything is tried: what failed earlier says nothing of now.
    let before = try await database.pool.read { try Standing.Start(database.jobs, in: $0) }
    let translator = Translator(database: database, path: SystemPath.shared, key: key)
    return try await withThrowingTaskGroup(of: End?.self) { tasks in
      tasks.addTask {
        try await translator.worker.run(standby: true)
        return nil
      }
      tasks.addTask { try await look(ids, before, endsLimited: endsLimited, news) }
      defer { tasks.cancelAll() }
      while let end = try await tasks.next() { if let end { return end } }
      return .stopped
    }
  }

  private func look(
    _ ids: [String], _ before: Standing.Start?, endsLimited: Bool,
    _ news: @Sendable ([Entry?], Standing) throws -> Void
  ) async throws -> End {
    var left = ids[...]
    var old = before
    let began = ContinuousClock.now
    while true {
      let ahead = Array(left.prefix(100))
      let (standing, start, entries) = try await database.pool.read { db in
        var entries: [Entry?] = []
        for id in ahead {
          let entry = try Entry.find(id, in: db)
          if entry?.state == "waiting" { break }
          entries.append(entry)
        }
        let start = try Standing.Start(database.jobs, in: db)
        return (try Standing(database.jobs, in: db), start, entries)
      }
      left = left.dropFirst(entries.count)
      try news(entries, standing)
      if left.isEmpty { return .answered }
      if Interruption.isAsked { return .stopped }
      switch standing.cause {
      case .unreachable(let reason) where entries.isEmpty:
        if start != old || began.duration(to: .now) > Self.patience { return .offline(reason) }
      case .limited:
        if endsLimited { return .offline(standing.text(now: Date())) }
        // Somebody was reached by it.
        old = start
      default: break
      }
      try await Task.sleep(for: Self.interval)
    }
  }

  /// Answers what is left of some questions with what is installed here.
  private func answerOffline(_ ids: [String]) async throws {
    let apertium = Apertium()
    for id in ids {
      guard let entry = try await database.pool.read({ try Entry.find(id, in: $0) }),
        entry.state == "waiting"
      else { continue }
      var answer: Answer
      do {
        let result = try await apertium.translate(
          entry.text, from: entry.from == "auto" ? nil : entry.from, to: entry.to)
        answer = Answer(
          text: result.text, source: result.source, engine: result.engine,
          confidence: result.confidence)
      } catch let error as ApertiumError {
        // It goes on waiting for the service.
        complain("\(error)")
        continue
      }
      answer.isOffline = true
      let made = answer
      try await database.pool.write { db in
        try database.settle(id, made, model: nil, in: db)
        for job in try database.jobs.records(in: db)
        where job.kind == AnswerJob.kind && !job.state.hasEnded {
          try database.jobs.cancel(job.id, in: db)
        }
        try database.goOn(in: db)
      }
    }
  }
}
#endif
