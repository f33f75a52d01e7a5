#if Telemetry
import Foundation
import GRDB
import Logging
import Synchronization
import Tern
import TernCore
import TernJobs
import TernTelemetry
import TernTesting
import Testing

@Suite("TernTelemetry: a job's lines in the log")
struct JobLogTests {
  @Test func `all lines of a job have its metadata, the handler's own among them`() throws {
    try Rig.logged { rig, lines in
      let queue = try rig.open()
      _ = try rig.enqueue(queue, Scan(shelf: "1"))
      let worker = JobWorker(queue) {
        $0.handle(Scan.self) { _, context in
          context.logger.info("handed to the handler")
          Logger.current.info("found by who knows no context")
          try await rig.sleep(2)
          switch context.start {
          case 1: throw Failure(.failed)
          case 2: throw Failure(.unreachable)
          case 3: throw Failure(.limited(delay: .seconds(30)))
          default: _ = try await context.step("scan") { 1 }
          }
          try await context.save("page", 7)
        }
      }
      try rig.live(worker, until: 100)
      #expect(lines.jobs == ["library 1 scan recogniser"])
      let handed = ["info handed to the handler", "info found by who knows no context"]
      func own(_ attempt: Int, _ start: Int) -> [String] {
        handed.map { "\($0) attempt=\(attempt) start=\(start)" }
      }
      #expect(
        lines.texts == ["debug job enqueued", "debug job started attempt=1 start=1 waited_ms=0"]
          + own(1, 1) + [
            "notice attempt failed advice=failed attempt=1 counts=true error=JobFailure "
              + "ran_ms=2000 retry_ms=1000 start=1",
            "debug job started attempt=2 start=2 waited_ms=0",
          ] + own(2, 2) + [
            "debug attempt does not count advice=unreachable attempt=2 counts=false "
              + "error=JobFailure ran_ms=2000 retry_ms=1000 start=2",
            "debug job started attempt=2 start=3 waited_ms=0",
          ] + own(2, 3) + [
            "debug the service wants no requests for a while advice=limited attempt=2 "
              + "counts=false error=JobFailure gate_ms=30000 ran_ms=2000 start=3",
            "debug job has to wait waits_for=gate",
            "debug job started attempt=2 is_probe=true start=4 waited_ms=30000",
          ] + own(2, 4) + [
            "debug step stored attempt=2 start=4 step=scan",
            "trace value stored attempt=2 start=4 value=page",
            "debug job done age_ms=40000 attempt=2 ran_ms=2000 start=4",
          ])
    }
  }

  @Test func `a delay beyond all reason has its line`() throws {
    try Rig.logged { rig, lines in
      let queue = try rig.open()
      try rig.write { _ = try queue.enqueue(Tidy(name: ""), after: .seconds(Int64.max), in: $0) }
      #expect(lines.texts == ["debug job enqueued delay_ms=\(Int64.max / 2)"])
    }
  }

  @Test func `what somebody has to see to is an error, and a death is a warning`() throws {
    try Rig.logged { rig, lines in
      let queue = try rig.open()
      _ = try rig.enqueue(queue, Tidy(name: "a"))
      _ = try rig.enqueue(queue, Patient())
      try rig.drain(
        JobWorker(queue) { $0.handle(Tidy.self) { _, _ in throw Failure(.permanent) } })
      #expect(
        lines.texts.filter { $0.hasPrefix("error") } == [
          "error job parked cause=noHandler",
          "error job failed advice=permanent attempt=1 counts=false error=JobFailure ran_ms=0 "
            + "start=1",
        ])
    }
  }

  @Test func `lines below the logger's level are not written`() throws {
    let lines = LogLines()
    var logger = lines.logger
    logger.logLevel = .warning
    try Rig.run { rig in
      rig.observers = [JobLog(logger)]
      let queue = try rig.open()
      _ = try rig.enqueue(queue, Tidy(name: "a"))
      try rig.drain(JobWorker(queue) { $0.handle(Tidy.self) { _, _ in } })
      #expect(lines.texts == [])
      _ = try rig.enqueue(queue, Tidy(name: "b"))
      try rig.drain(
        JobWorker(queue) { $0.handle(Tidy.self) { _, _ in throw Failure(.permanent) } })
      #expect(lines.texts.count == 1)
    }
  }

  @Test func `without a log, the handler's lines go where the caller's do`() throws {
    let lines = LogLines()
    try Rig.run { rig in
      let queue = try rig.open()
      _ = try rig.enqueue(queue, Tidy(name: "a"))
      try withLogger(lines.logger) { _ in
        try rig.drain(
          JobWorker(queue) { $0.handle(Tidy.self) { _, context in context.logger.info("here") } })
      }
      #expect(lines.texts == ["info here attempt=1 start=1"])
      #expect(lines.jobs == ["none 1 tidy none"])
    }
  }

  // MARK: - Secrets

  private struct Letter: Job {
    static let kind = "letter"
    var text: String
  }

  /// One that speaks of what it carries.
  private enum Talkative: Error, CustomStringConvertible {
    case because(String)
    case plain
    var description: String { "hush" }
  }

  private func tellAll(_ includesReasons: Bool) throws -> String {
    var all = ""
    try Rig.logged(includesReasons: includesReasons) { rig, lines in
      let queue = try rig.open()
      let file = try rig.perform { try await queue.attach(Data("hush".utf8), as: "hush-file") }
      try rig.write { db in
        try queue.enqueue(
          Letter(text: "hush"), unique: .skip("hush-key"), lane: "hush-lane",
          service: "https://ann:hush@example.org/a?token=hush#hush", files: [file], in: db)
      }
      let tries = Mutex(0)
      try rig.drain(
        JobWorker(queue) {
          $0.handle(Letter.self) { job, context in
            _ = context.idempotencyKey("send")
            _ = try await context.step("send https://example.org/b?key=hush") { job.text }
            try await context.save("value", job.text)
            try await context.report(progress: 1, message: "hush")
            switch tries.withLock({ tries in
              tries += 1
              return tries
            }) {
            case 1: throw Talkative.because("hush")
            case 2: throw Talkative.plain
            case 3: throw Silent.because(secret: "hush")
            default: throw JobFailure(.permanent, "hush")
            }
          }
        }, waiting: .seconds(100))
      // Whose queue this is, is a part of its idempotency keys.
      let id = try rig.database.read {
        try String.fetchOne($0, sql: "SELECT id FROM grdb_tern_jobqueue")
      }
      all = lines.entries.map { "\($0.message) \($0.metadata) \($0.error.map { "\($0)" } ?? "")" }
        .joined(separator: "\n")
      #expect(!all.contains(try #require(id)))
    }
    return all
  }

  @Test func `no payload, key, value, token or query comes into a line`() throws {
    let all = try tellAll(false)
    #expect(!all.contains("hush"), "\(all)")
    for shown in [
      "https://example.org/a", "send https://example.org/b", "Talkative.because",
      "Silent.because", "Talkative", "job failed",
    ] { #expect(all.contains(shown), "\(shown)") }
    // What an error says itself is asked for.
    #expect(try tellAll(true).contains("hush"))
  }

  @Test(arguments: [
    ("recogniser", "recogniser"), ("what? nothing", "what? nothing"),
    ("https://example.org", "https://example.org"),
    ("https://example.org?q=1", "https://example.org"),
    ("https://a:b@c@example.org:8080/x/y?q#f", "https://example.org:8080/x/y"),
    ("https://a:b@c@example.org", "https://example.org"),
    ("https://a@example.org?q=@", "https://…"),
    // Of these nobody can tell where the host begins.
    ("https://example.org/@me", "https://…"), ("https://a:b/c@example.org/x", "https://…"),
    ("https://a:1/c@example.org/x", "https://…"), ("https://a:b?c@example.org/x", "https://…"),
    ("https://a:b#c@example.org/x", "https://…"), ("https://a:b@c/d@example.org/x", "https://…"),
    ("to https://a.org and https://b:c@d.org", "to https://…"),
  ])
  func `an address is shown without who is named in it and what is asked`(
    _ service: String, _ shown: String
  ) {
    let lines = LogLines()
    JobLog(lines.logger).observe(
      JobEvent(job: JobID(rawValue: 1), kind: "k", service: service, .retried))
    #expect(lines.entries.first?.metadata["job.service"] == "\(shown)")
  }
}
#endif
