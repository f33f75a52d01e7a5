#if Server && os(Linux)
import Foundation
import GRDB
import TestProcesses
import Testing

@testable import translate

@Suite(
  "Two hundred sentences", .serialized,
  .enabled(if: TestService.isInstalled, "Apertium is not installed"), .timeLimit(.minutes(3)))
struct JourneyTests {
  /// How many it is about; script/translate-many asks for more.
  private static let count =
    ProcessInfo.processInfo.environment["TRANSLATE_SENTENCES"].flatMap { Int($0) } ?? 200

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

  @Test func `come through ten deaths and as many failures of the network, each once and in order`()
    async throws
  {
    let port = try await TestService.closedPort()
    let count = Self.count
    let sentences = (1...count).map { "The dog sees \($0) cats." }
    try await withTranslateFolder { folder in
      _ = try await folder("settings", "service", "http://127.0.0.1:\(port)")
      let asked = try await folder(
        "--from", "en", input: Array(sentences.joined(separator: "\n").utf8))
      #expect(asked.status == 75 && asked.complaints.contains("\(count) saved for later"))
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
      }
      // The network goes while one works, and comes back.
      let worker = try Worker(folder)
      try await TestService.run(port: port) { _ in
        try await worker.read { Worker.waiting($0).map { $0 <= count * 2 / 5 } ?? false }
      }
      let before = try worker.memory
      try await worker.read { $0.contains("can't be reached") || $0.contains("tried again") }
      try await TestService.run(port: port) { _ in
        try await worker.read { $0.hasPrefix("nothing waits") }
      }
      let grown = try worker.memory - before
      #expect(grown < 16 << 20, "\(grown) bytes more in memory")
      print("memory before \(before >> 20) MiB, grown by \(grown >> 10) KiB")
      #expect(worker.end(SIGTERM) == 0)
      let kept = Array(sentences.suffix(TranslateDatabase.mostPhrases))
      let history = try await folder.history()
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
          "phrase", "answer", "waiting", "cache", "grdb_tern_jobs WHERE state <> 'done'",
        ]
        return try tables.map { try Int.fetchOne(db, sql: "SELECT count(*) FROM \($0)") ?? -1 }
      }
      #expect(counts == [kept.count, kept.count, 0, count, 0])
    }
  }
}
#endif
