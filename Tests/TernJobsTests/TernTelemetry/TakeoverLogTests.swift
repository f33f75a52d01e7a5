#if Telemetry && (os(Linux) || os(macOS))
import Foundation
import GRDB
import Tern
import TernJobs
import TernTelemetry
import TestProcesses
import Testing

private struct Errand: Job {
  static let kind = "errand"
  var name: String
}

/// A job that two processes tell of, in real time.
@Suite("TernTelemetry: a job that two processes tell of", .timeLimit(.minutes(1)))
struct TakeoverLogTests {
  @Test func `the lines of a process that was killed and of the next one are one job's story`()
    async throws
  {
    let folder = FileManager.default.temporaryDirectory
      .appending(path: "tern-takeover-\(ProcessInfo.processInfo.globallyUniqueString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let path = folder.appending(path: "app.sqlite").path
    var configuration = Configuration()
    configuration.busyMode = .timeout(10)
    let database = try DatabasePool(path: path, configuration: configuration)
    let lines = LogLines()
    let queue = try await JobQueue.open(
      database,
      environment: JobEnvironment(observers: [JobLog(lines.logger, queue: "library")]))
    let id = try await database.write { try queue.enqueue(Errand(name: "hush"), in: $0) }

    let child = try ChildProcess(
      BuiltExecutable.path("JobProcess"), arguments: [path, "log"])
    var told = ""
    while !told.contains("working\n"), let more = child.read() {
      told += String(decoding: more, as: UTF8.self)
    }
    child.kill()
    child.endInput()
    #expect(child.wait() == SIGKILL)
    try await JobWorker(queue) { $0.handle(Errand.self) { _, _ in } }.drain()

    let started = try #require(told.split(separator: "\n").first { $0.contains("job started") })
    let common = ["job.id=\(id)", "job.kind=errand", "job.queue=library"]
    for word in common + ["job.attempt=1", "job.start=1"] {
      #expect(started.contains(word), "\(started)")
    }
    #expect(!told.contains("hush"))
    #expect(lines.jobs == ["library \(id) errand none"])
    #expect(
      lines.entries.map { "\($0.level) \($0.message) \($0.metadata["job.start"] ?? "none")" } == [
        "debug job enqueued none", "warning a process died that ran the job 1",
        "debug job started 2", "debug job done 2",
      ])
  }
}
#endif
