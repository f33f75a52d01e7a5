import ExampleProcesses
import Foundation
import GRDB
@_spi(Rehearsal) import Tern

/// A folder with a library, in which `scan` is started and killed. Every call blocks.
struct ScanDevice: Sendable {
  enum End: Hashable { case killed, finished }

  let folder: String
  let service: String
  let streamSeconds: Int

  var database: String { folder + "/scan.sqlite" }
  var files: String { database + "-files" }
  /// Where the programs put what they need for a moment.
  var temporary: String { folder + "/tmp" }
  var log: String { folder + "/points" }

  /// A process that got this far in none of them has hung.
  private static let patience = Duration.seconds(120)

  init(folder: String, service: String, streamSeconds: Int) throws {
    (self.folder, self.service, self.streamSeconds) = (folder, service, streamSeconds)
    try FileManager.default.createDirectory(
      atPath: temporary, withIntermediateDirectories: true)
  }

  private func start(_ words: [String], armed: String? = nil) throws -> ChildProcess {
    var environment = ["TMPDIR": temporary, CrashPoint.logVariable: log]
    environment[CrashPoint.armVariable] = armed
    return try ChildProcess(
      BuiltExecutable.path("scan"), arguments: words + ["--data", database],
      environment: environment)
  }

  /// - Returns: whether it was killed, and whether it said that the photo is safe.
  func add(
    _ photo: String, armed: String? = nil, killAfter: Duration? = nil
  ) throws -> (end: End, isAccepted: Bool) {
    let process = try start(["add", photo], armed: armed)
    let (end, output) = try follow(process, killAfter: killAfter) { false }
    return (end, output.contains("accepted: "))
  }

  /// Runs until nothing is left to be done, and stops it then as a person does.
  func run(armed: String? = nil, killAfter: Duration? = nil) throws -> End {
    let words = [
      "run", "--service", service, "--stream-seconds", "\(streamSeconds)", "--pause-seconds", "1",
    ]
    return try follow(start(words, armed: armed), killAfter: killAfter) { try isSettled() }.end
  }

  /// What opens the library sweeps up after the dead.
  func status() throws -> String { try follow(start(["status"])) { false }.output }

  private func follow(
    _ process: ChildProcess, killAfter: Duration? = nil, until isOver: () throws -> Bool
  ) throws -> (end: End, output: String) {
    let clock = ContinuousClock()
    let begin = clock.now
    var output: [UInt8] = []
    var isStopping = false
    var isLate = false
    while true {
      var descriptor = pollfd(fd: process.output, events: Int16(POLLIN), revents: 0)
      let left = killAfter.map { $0 - (clock.now - begin) } ?? .milliseconds(50)
      poll(&descriptor, 1, CInt(max(0, min(left, .milliseconds(50)) / .milliseconds(1))))
      if descriptor.revents != 0 {
        guard let bytes = process.read() else { break }
        output += bytes
      }
      let passed = clock.now - begin
      isLate = passed > Self.patience
      if isLate || killAfter.map({ passed >= $0 }) ?? false {
        process.kill()
      } else if !isStopping, killAfter == nil, !output.isEmpty, try isOver() {
        // It has said something, so it listens to signals.
        process.kill(SIGTERM)
        isStopping = true
      }
    }
    process.endInput()
    let status = process.wait()
    if isLate { throw ScanCrashFailure("scan did not come to an end") }
    let text = String(decoding: output, as: UTF8.self)
    switch status {
    case SIGKILL: return (.killed, text)
    case 0: return (.finished, text)
    default: throw ScanCrashFailure("scan ended with \(status), and said “\(text)”")
    }
  }

  /// The points that its programs have reached, and whether they died there.
  func points() -> [(point: CrashPoint, isKill: Bool)] {
    CrashPoint.read(
      log: String(decoding: FileManager.default.contents(atPath: log) ?? Data(), as: UTF8.self))
  }

  // MARK: - Its database

  func read<T>(_ body: (Database) throws -> T) throws -> T {
    var configuration = Configuration()
    configuration.busyMode = .timeout(10)
    let queue = try DatabaseQueue(path: database, configuration: configuration)
    defer { try? queue.close() }
    return try queue.read(body)
  }

  /// Everything is done or failed, or the service wants nothing for long.
  func isSettled() throws -> Bool {
    try read { db in
      try Int.fetchOne(
        db,
        sql: """
          SELECT count(*) FROM grdb_tern_jobs WHERE state = 'running' OR (state = 'waiting'
            AND (julianday(coalesce(gate_reopens_at, '1970-01-01')) - julianday()) * 1440 < 1)
          """) == 0
    }
  }

  /// Lets the time come at which a gate reopens.
  func passPause() throws {
    let queue = try DatabaseQueue(path: database)
    defer { try? queue.close() }
    try queue.write { db in
      try db.execute(
        sql: "UPDATE grdb_tern_jobgate SET since_ms = since_ms - reopens_ms, reopens_ms = 0")
    }
  }
}
