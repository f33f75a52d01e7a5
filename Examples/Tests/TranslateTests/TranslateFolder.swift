import ExampleProcesses
import Foundation
import GRDB
import Tern

@testable import translate

/// A folder with a database in it, and the real `translate` to be used there.
struct TranslateFolder: Sendable {
  struct Outcome: Sendable {
    /// The exit status, or the signal.
    var status: CInt
    var output: String
    /// Standard error.
    var complaints: String
    var lines: [Substring] { output.split(separator: "\n", omittingEmptySubsequences: false) }
  }

  let path: String
  var device = "a"
  var environment: [String: String] = [:]
  var database: String { "\(path)/\(device).sqlite" }

  func callAsFunction(_ words: String..., input: [UInt8] = []) async throws -> Outcome {
    try await run(words, input)
  }

  /// - Parameter names: whether the database is named, which not every command takes.
  func run(_ words: [String], _ input: [UInt8] = [], names: Bool = true) async throws -> Outcome {
    let (files, folder) = ("\(path)/\(UUID().uuidString)", self)
    try Data(input).write(to: URL(filePath: files + ".in"))
    return try await blocking {
      let process = try folder.start(
        words, redirect: #"<"$FILES.in" 2>"$FILES.err""#, files, names: names)
      process.endInput()
      var output: [UInt8] = []
      while let bytes = process.read() { output += bytes }
      return Outcome(
        status: process.wait(), output: String(decoding: output, as: UTF8.self),
        complaints: try String(contentsOfFile: files + ".err", encoding: .utf8))
    }
  }

  /// After three minutes the system ends it, so that no test waits for ever.
  ///
  /// - Parameter redirect: for the shell, where standard input and error are not to be this test's.
  func start(
    _ words: [String], redirect: String = "2>&1", _ files: String = "", names: Bool = true
  ) throws -> ChildProcess {
    var all = ["LC_ALL": "C.UTF-8", "GEMINI_API_KEY": "", "FILES": files]
    // It would keep open what a service in this process listens on, after that has ended.
    all["LIMIT"] = """
      $ENV{PATH} = $ENV{SEARCHED} if $ENV{SEARCHED}; POSIX::close($_) for 3..1023; alarm 180; exec @ARGV
      """
    all.merge(environment) { $1 }
    return try ChildProcess(
      "/bin/sh",
      arguments: [
        "-c", #"exec perl -MPOSIX -e "$LIMIT" "$0" "$@" "# + redirect,
        BuiltExecutable.path("translate"),
      ] + words + (names ? ["--data", database] : []), environment: all)
  }

  func read<T: Sendable>(_ body: @Sendable (Database) throws -> T) throws -> T {
    var configuration = Configuration()
    configuration.busyMode = .timeout(30)
    let queue = try DatabaseQueue(path: database, configuration: configuration)
    defer { try? queue.close() }
    return try queue.read(body)
  }

  /// Writes questions and their answers as they stand in the history, without asking anybody.
  func fill(_ name: String, _ numbers: ClosedRange<Int>) throws {
    let queue = try DatabaseQueue(path: database)
    try queue.write { db in
      for number in numbers {
        try db.execute(
          sql: """
            INSERT INTO phrase SELECT ?1, 'filled', 'en', 'es', ?2, max(askedAt) + 1 FROM phrase
            """, arguments: ["\(name)-\(number)", "\(name) \(number)"])
        try db.execute(
          sql: "INSERT INTO answer (phrase, text, source) VALUES (?, ?, 'en')",
          arguments: ["\(name)-\(number)", "<\(name) \(number)>"])
      }
    }
  }

  /// As if all that was asked had been long ago: what is as young as an hour is not trimmed.
  func age() async throws {
    let database = try await TranslateDatabase.open(database)
    try await database.pool.write { db in
      try database.replica.writeWithoutUndo(in: db) {
        try $0.execute(sql: "UPDATE phrase SET askedAt = askedAt - 7200000000")
      }
    }
    try database.pool.close()
  }

  /// A line for each question: its text, and what came of it.
  func history() async throws -> [Substring] {
    try await self("history").output.split(separator: "\n")
  }

  /// Where it looks for programs, from now on; its own are not among them.
  mutating func path(_ folders: String) { environment["SEARCHED"] = folders }

  func on(_ device: String) -> TranslateFolder {
    var other = self
    other.device = device
    return other
  }
}

func withTranslateFolder(_ body: (TranslateFolder) async throws -> Void) async throws {
  let path = FileManager.default.temporaryDirectory.appending(
    path: "tern-translate-\(UUID().uuidString)"
  ).path
  try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
  defer { try? FileManager.default.removeItem(atPath: path) }
  try await body(TranslateFolder(path: path))
}

/// On a thread of its own: those of Dispatch's pool are Swift's, too, and the service in this process
/// was not always given another while one of them waited for what a program says.
func blocking<T: Sendable>(_ body: @escaping @Sendable () throws -> T) async throws -> T {
  try await withCheckedThrowingContinuation { continuation in
    Thread.detachNewThread { continuation.resume(with: Result { try body() }) }
  }
}
