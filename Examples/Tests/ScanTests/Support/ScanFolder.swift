import ExampleProcesses
import Foundation
import GRDB

/// A folder with a library in it, and the real `scan` to be used there.
struct ScanFolder: Sendable {
  struct Outcome: Sendable {
    /// The exit status, or the signal.
    var status: CInt
    /// Standard output and standard error.
    var text: String
    var lines: [Substring] { text.split(separator: "\n") }
  }

  let path: String
  var database: String { path + "/scan.sqlite" }

  func callAsFunction(
    _ words: String..., environment: [String: String] = [:]
  ) async throws -> Outcome {
    try await blocking { try start(words, environment: environment).outcome() }
  }

  /// The first line of what `status` says.
  func status() async throws -> String {
    try await self("status").lines.first.map(String.init) ?? ""
  }

  func start(_ words: [String], environment: [String: String] = [:]) throws -> ChildProcess {
    try Self.merged(
      [BuiltExecutable.path("scan")] + words + ["--data", database], environment: environment)
  }

  /// A program whose complaints come with what else it prints.
  static func merged(
    _ words: [String], environment: [String: String] = [:]
  ) throws -> ChildProcess {
    try ChildProcess(
      "/bin/sh", arguments: ["-c", #"exec "$0" "$@" 2>&1"#] + words, environment: environment)
  }

  /// Beside a program that writes too.
  private func open() throws -> DatabaseQueue {
    var configuration = Configuration()
    configuration.busyMode = .timeout(30)
    return try DatabaseQueue(path: database, configuration: configuration)
  }

  func read<T: Sendable>(_ body: @Sendable (Database) throws -> T) throws -> T {
    let queue = try open()
    defer { try? queue.close() }
    return try queue.read(body)
  }

  func write(_ sql: String) throws {
    let queue = try open()
    defer { try? queue.close() }
    try queue.write { try $0.execute(sql: sql) }
  }

  /// Does something while nobody else can write, and lets nobody write for about a second more.
  func locked<T: Sendable>(_ body: @Sendable () throws -> T) throws -> T {
    let queue = try open()
    defer { try? queue.close() }
    return try queue.write { db in
      let result = try body()
      // Work instead of sleep: it takes longer, too, where everything does.
      try db.execute(
        sql: """
          WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 4000000)
          UPDATE device SET quota = quota WHERE (SELECT count(*) FROM n) = 0
          """)
      return result
    }
  }

  /// Files of jobs that are there.
  var keptFiles: [String] {
    let folder = database + "-files"
    return (FileManager.default.subpaths(atPath: folder) ?? []).filter { path in
      var isFolder: ObjCBool = false
      return FileManager.default.fileExists(atPath: "\(folder)/\(path)", isDirectory: &isFolder)
        && !isFolder.boolValue && !path.hasSuffix("lock")
    }
  }

  // MARK: - Photos

  /// A picture that can be sent; its colour tells it from others.
  func photo(_ name: String, _ format: String = "png", colour: String = "white") async throws
    -> String
  {
    let target = "\(path)/\(name)"
    let words = ["gm", "convert", "-size", "64x48", "xc:\(colour)", "\(format):\(target)"]
    let status = try await blocking {
      try ChildProcess("/usr/bin/env", arguments: words).outcome().status
    }
    guard status == 0 else { throw CocoaError(.fileNoSuchFile) }
    return target
  }

  func file(_ name: String, _ bytes: [UInt8]) throws -> String {
    try Data(bytes).write(to: URL(filePath: "\(path)/\(name)"))
    return "\(path)/\(name)"
  }
}

extension ChildProcess {
  /// What it says until it ends, and how it ends. Blocks.
  func outcome() -> ScanFolder.Outcome {
    endInput()
    var output: [UInt8] = []
    while let bytes = read() { output += bytes }
    return ScanFolder.Outcome(status: wait(), text: String(decoding: output, as: UTF8.self))
  }
}

func withScanFolder(_ body: (ScanFolder) async throws -> Void) async throws {
  let path = FileManager.default.temporaryDirectory.appending(
    path: "tern-scan-\(UUID().uuidString)"
  ).path
  try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
  defer { try? FileManager.default.removeItem(atPath: path) }
  try await body(ScanFolder(path: path))
}

/// Off Swift's own threads, which nobody may hold up.
func blocking<T: Sendable>(_ body: @escaping @Sendable () throws -> T) async throws -> T {
  try await withCheckedThrowingContinuation { continuation in
    DispatchQueue.global().async { continuation.resume(with: Result { try body() }) }
  }
}
