import ExampleService
import Foundation
import GRDB
import InterpreterKit
import Synchronization
import Tern
import TernJobs
import TernNetwork

/// Works on what waits until questions are answered, or it is known that they can't be now.
struct Watch: Sendable {
  enum End: Sendable {
    case answered
    /// The service can't be reached, and these wait for it; an answer that came before its turn may
    /// be among them.
    case offline(left: [String])
    /// The service wants a pause that is too long to be waited for, and these wait for its end.
    case paused(left: [String])
    /// By SIGINT or SIGTERM.
    case stopped
  }

  let database: TranslateDatabase
  let key: String?
  /// Where the questions go.
  let service: String
  /// Where there is one.
  let own: OwnInterpreter?
  /// Whether what is installed here answers where the service can't be reached.
  let usesOffline: Bool

  /// At which countdowns are shown anew.
  private static let interval = Duration.seconds(1)
  /// A longer pause of the service's is not waited for, in seconds.
  private static let longestPause = TimeInterval(300)
  /// After which the last word of a worker that tries nothing new is believed: another process's.
  private static let patience = Duration.seconds(2)

  /// - Parameter teller: told of the answers in the order of the questions, and of how the work stands.
  func follow(_ asked: Asked, _ teller: Teller) async throws -> End {
    // Before anything is tried: what failed earlier says nothing of now.
    let before = try await database.pool.read { try Standing(database, in: $0)[service] }
    let translator = Translator(
      database: database, path: SystemPath.shared, key: key, own: own
    ) { teller.tell(part: $1, of: $0) }
    let (news, signal) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    return try await withThrowingTaskGroup(of: End?.self) { tasks in
      tasks.addTask {
        try await translator.worker.run(standby: true)
        return nil
      }
      // The last one tells of other programs on the file.
      for hints in [asked.news, Interruption.requests(), database.jobs.announcements()] {
        tasks.addTask {
          for await _ in hints { signal.yield() }
          return nil
        }
      }
      tasks.addTask {
        let standings = ValueObservation.tracking { try Standing(database, in: $0) }
        for try await _ in standings.values(in: database.pool) { signal.yield() }
        return nil
      }
      tasks.addTask {
        // The sleep throws when an end was found.
        while (try? await Task.sleep(for: Self.interval)) != nil { signal.yield() }
        return nil
      }
      tasks.addTask { try await look(asked, before, teller, news) }
      defer { tasks.cancelAll() }
      while let end = try await tasks.next() { if let end { return end } }
      return .stopped
    }
  }

  private func look(
    _ asked: Asked, _ before: Standing.Line?, _ teller: Teller, _ news: AsyncStream<Void>
  ) async throws -> End {
    var left: ArraySlice<String> = []
    var old = before
    /// How many of those that are left were put to what is installed here.
    var tried = 0
    let began = ContinuousClock.now
    var signals = news.makeAsyncIterator()
    while true {
      let (new, isWhole) = asked.take()
      left += new
      let ahead = Array(left.prefix(100))
      let (standing, entries) = try await database.pool.read { db in
        var entries: [Entry?] = []
        for id in ahead {
          let entry = try Entry.find(id, in: db)
          if entry?.state == "waiting" { break }
          entries.append(entry)
        }
        return (try Standing(database, in: db), entries)
      }
      left = left.dropFirst(entries.count)
      tried = max(0, tried - entries.count)
      try teller.tell(entries, next: left.first, of: asked.count, standing, service)
      if left.isEmpty, isWhole { return .answered }
      if Interruption.isAsked { return .stopped }
      // There may be more to tell at once.
      if entries.count == ahead.count, !left.isEmpty { continue }
      let line = standing[service]
      var (isStuck, isPaused) = (false, false)
      switch line?.cause {
      case .unreachable where entries.isEmpty && !left.isEmpty:
        let isNew = line.map { Start($0) } != old.map { Start($0) }
        isStuck = isNew || began.duration(to: .now) > Self.patience
      case .limited(let end):
        isPaused = entries.isEmpty && end.timeIntervalSinceNow > Self.longestPause
        isStuck = (usesOffline || isPaused) && !left.isEmpty
        // Somebody was reached by it.
        old = line
      default: break
      }
      if isStuck, let reason = line?.cause.text(now: Date()) {
        if usesOffline, tried < left.count {
          try await answerOffline(left.dropFirst(tried))
          tried = left.count
          continue
        }
        if case .unreachable = line?.cause {
          teller.tell(offline: reason)
          if isWhole { return .offline(left: Array(left)) }
        } else if isPaused {
          teller.tell(offline: reason)
          if isWhole { return .paused(left: Array(left)) }
        }
      }
      _ = await signals.next()
    }
  }

  /// What was tried last.
  private struct Start: Equatable {
    var job: JobID
    var number: Int

    init(_ line: Standing.Line) { (job, number) = (line.job, line.starts) }
  }

  /// Answers questions with what is installed here.
  private func answerOffline(_ ids: ArraySlice<String>) async throws {
    let apertium = Apertium()
    for id in ids {
      if let refusal = try await database.answerOffline(id, with: apertium) {
        complain(refusal.shown())
      }
    }
  }
}
