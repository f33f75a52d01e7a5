#if Server
import Foundation
import GRDB
import InterpreterKit
import Synchronization
import Tern
import UnixSignals

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
    let end = try await follow(ids, counted)
    guard case .offline = end, usesOffline else { return end }
    let left = Array(ids.dropFirst(told.withLock { $0 }))
    try await answerOffline(left)
    return try await follow(left, counted)
  }

  private func follow(
    _ ids: [String], _ news: @escaping @Sendable ([Entry?], Standing) throws -> Void
  ) async throws -> End {
    let signals = await UnixSignalsSequence(trapping: .sigterm, .sigint)
    let translator = Translator(database: database, path: SystemPath.shared, key: key)
    return try await withThrowingTaskGroup(of: End?.self) { tasks in
      tasks.addTask {
        try await translator.worker.run(standby: true)
        return nil
      }
      tasks.addTask {
        for await _ in signals { return .stopped }
        return nil
      }
      tasks.addTask { try await look(ids, news) }
      defer { tasks.cancelAll() }
      while let end = try await tasks.next() { if let end { return end } }
      return .stopped
    }
  }

  private func look(
    _ ids: [String], _ news: @Sendable ([Entry?], Standing) throws -> Void
  ) async throws -> End {
    var left = ids[...]
    while true {
      let ahead = Array(left.prefix(100))
      let (standing, entries) = try await database.pool.read { db in
        var entries: [Entry?] = []
        for id in ahead {
          let entry = try Entry.find(id, in: db)
          if entry?.state == "waiting" { break }
          entries.append(entry)
        }
        return (try Standing(database.jobs, in: db), entries)
      }
      left = left.dropFirst(entries.count)
      try news(entries, standing)
      if left.isEmpty { return .answered }
      if entries.isEmpty, case .unreachable(let reason) = standing.cause { return .offline(reason) }
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
        FileHandle.standardError.write(Data("\(error)\n".utf8))
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
