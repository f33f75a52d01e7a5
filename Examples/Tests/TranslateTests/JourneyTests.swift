#if os(Linux)
import Foundation
import GRDB
import ExampleProcesses
import Testing

@testable import translate

@Suite(
  "Two hundred sentences", .serialized,
  .enabled(if: TestService.isInstalled, "Apertium is not installed"), .timeLimit(.minutes(3)))
struct JourneyTests {
  /// How many it is about; script/translate-many asks for more.
  private static let count =
    ProcessInfo.processInfo.environment["TRANSLATE_SENTENCES"].flatMap { Int($0) } ?? 200

  /// What is found, for who runs script/translate-many.
  private struct Figures {
    var deaths = 0
    var askersDeaths = 0
    /// Bytes in memory of the last worker, before its second half and after it.
    var memory = (before: 0, after: 0)
    var grown: Int { memory.after - memory.before }
  }

  /// In bytes: how much more a worker may have in memory at its end.
  private static let mostGrown = 8 << 20

  /// A `translate run` that is read line by line.
  private struct Worker: Sendable {
    let process: ChildProcess

    init(_ folder: TranslateFolder) throws { process = try folder.start(["run"]) }

    /// Reads until a line of it is wanted.
    func read(until isWanted: @escaping @Sendable (Substring) -> Bool) async throws {
      try await blocking { [process] in
        var rest = ""
        while let bytes = process.read() {
          rest += String(decoding: bytes, as: UTF8.self)
          let lines = rest.split(separator: "\n", omittingEmptySubsequences: false)
          if lines.dropLast().contains(where: isWanted) { return }
          rest = String(lines.last ?? "")
        }
        throw CocoaError(.fileReadUnknown)
      }
    }

    /// How many questions wait, where a line says it.
    static func waiting(_ line: Substring) -> Int? {
      line.hasPrefix("nothing waits") ? 0 : line.split(separator: " ").first.flatMap { Int($0) }
    }

    func end(_ signal: CInt) -> CInt {
      process.kill(signal)
      process.endInput()
      return process.wait()
    }

    /// Bytes in memory.
    var memory: Int {
      get throws {
        let text = try String(contentsOfFile: "/proc/\(process.id)/statm", encoding: .utf8)
        return Int(text.split(separator: " ")[1])! * 4096
      }
    }
  }

  @Test func `come through thirteen deaths and six failures of the network, once and in order`()
    async throws
  {
    let port = try await TestService.closedPort()
    let count = Self.count
    let sentences = (1...count).map { "The dog sees \($0) cats." }
    let began = ContinuousClock.now
    try await withTranslateFolder { folder in
      var figures = Figures()
      _ = try await folder("settings", "service", "http://127.0.0.1:\(port)")
      try await ask(sentences, folder, &figures)
      for round in 1...5 {
        // Killed while the network is away, and again in the middle of its work.
        let idle = try Worker(folder)
        try await idle.read { $0.contains("can't be reached") }
        #expect(idle.end(SIGKILL) == SIGKILL)
        try await TestService.run(port: port) { _ in
          let worker = try Worker(folder)
          try await worker.read {
            Worker.waiting($0).map { $0 <= count - round * count / 10 } ?? false
          }
          #expect(worker.end(SIGKILL) == SIGKILL)
        }
        figures.deaths += 2
      }
      figures.memory = try await finish(folder, port)
      // An answer is told once its step is stored, and its job ends in a transaction of its own: a
      // worker that is ended between the two leaves that to the next.
      #expect(try await folder("run", "--once").status == 0)
      try check(sentences, try await folder.history(), folder)
      #expect(figures.grown < Self.mostGrown, "\(figures.grown) bytes more in memory")
      let kept = count
      print(
        """
        figures: \(count) sentences answered once and in order, \(kept) rows kept, \
        \(figures.deaths) workers and \(figures.askersDeaths) askers killed, memory \
        \(figures.memory.before >> 10) KiB and \(figures.grown >> 10) KiB more at the end \
        (\(Self.mostGrown >> 10) KiB allowed), \(began.duration(to: .now))
        """)
    }
  }

  /// Asks with no network, by programs that are killed while they read.
  private func ask(
    _ sentences: [String], _ folder: TranslateFolder, _ figures: inout Figures
  ) async throws {
    func saved() throws -> [String] {
      try folder.read { try String.fetchAll($0, sql: "SELECT text FROM phrase ORDER BY askedAt") }
    }
    for death in 1...3 {
      let before = try saved().count
      let wanted = death * sentences.count / 5
      let asker = try folder.start(["--from", "en"])
      try asker.write(sentences[before..<wanted].map { $0 + "\n" }.joined())
      // Each look opens the file anew; nobody tells that a line is saved but the file.
      var looks = 0
      while try saved().count <= before, looks < 100_000 { looks += 1 }
      asker.kill(SIGKILL)
      asker.endInput()
      #expect(try await blocking { asker.wait() } == SIGKILL)
      // What it had saved is a beginning of what it was given, and nothing is there twice.
      let now = try saved()
      #expect(now.count > before && now == Array(sentences.prefix(now.count)))
      figures.askersDeaths += 1
    }
    let rest = sentences.dropFirst(try saved().count)
    let asked = try await folder(
      "--from", "en", input: Array(rest.joined(separator: "\n").utf8))
    #expect(asked.status == 75 && asked.complaints.contains("\(rest.count) saved for later"))
    #expect(try saved() == sentences)
  }

  /// The network goes while one works, and comes back.
  ///
  /// - Returns: bytes in memory before it went, and at the end.
  private func finish(_ folder: TranslateFolder, _ port: Int) async throws -> (Int, Int) {
    let worker = try Worker(folder)
    try await TestService.run(port: port) { _ in
      try await worker.read { Worker.waiting($0).map { $0 <= Self.count * 2 / 5 } ?? false }
    }
    let before = try worker.memory
    try await worker.read { $0.contains("can't be reached") || $0.contains("tried again") }
    try await TestService.run(port: port) { _ in
      try await worker.read { $0.hasPrefix("nothing waits") }
    }
    let after = try worker.memory
    #expect(worker.end(SIGTERM) == 0)
    return (before, after)
  }

  private func check(
    _ sentences: [String], _ history: [Substring], _ folder: TranslateFolder
  ) throws {
    let kept = Array(sentences.suffix(TranslateDatabase.mostPhrases))
    #expect(
      history
        == kept.map { sentence in
          let number = sentence.split(separator: " ")[3]
          return Substring("en→es\t\(sentence)\tEl perro ve \(number) gatos.")
        })
    // Rows of the cache have their numbers in the order of the answers.
    let answered = try folder.read {
      try String.fetchAll($0, sql: "SELECT text FROM cache ORDER BY number")
    }
    #expect(answered == sentences)
    let counts = try folder.read { db in
      let tables = [
        "phrase", "answer", "asked", "cache", "grdb_tern_jobs WHERE state <> 'done'",
      ]
      return try tables.map { try Int.fetchOne(db, sql: "SELECT count(*) FROM \($0)") ?? -1 }
    }
    // What is as young as an hour is not trimmed yet; the history shows the newest.
    #expect(counts == [sentences.count, sentences.count, 0, sentences.count, 0])
  }
}
#endif
