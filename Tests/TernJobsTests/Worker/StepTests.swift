import Foundation
import GRDB
import Tern
import Testing

@testable import TernJobs

@Suite("Worker: steps, and the rows and values that they store")
struct StepTests {
  @Test func `a step is done once, with its rows, however often its job is tried`() throws {
    try Rig.run { rig in
      let queue = try rig.open()
      let id = try rig.enqueue(queue, Tidy(name: "Dune"))
      let worker = JobWorker(queue) {
        $0.handle(Tidy.self) { job, context in
          let titles = try await context.step("find") {
            rig.note("find")
            return [job.name]
          } commit: { db, titles in
            try db.execute(sql: "INSERT INTO book VALUES (?)", arguments: [titles[0]])
          }
          if rig.seconds < 2 { throw Failure(.failed) }
          try await context.step("end") { rig.note("end with \(titles)") }
        }
      }
      try rig.live(worker, until: 10)
      #expect(rig.notes() == ["0 find", "3 end with [\"Dune\"]"])
      #expect(try rig.titles() == ["Dune"])
      #expect(try rig.record(queue, id).state == .done)
    }
  }

  @Test func `what a commit throws undoes the step, and the handler is told`() throws {
    try Rig.run { rig in
      let queue = try rig.open()
      _ = try rig.enqueue(queue, Tidy(name: ""))
      let worker = JobWorker(queue) {
        $0.handle(Tidy.self) { _, context in
          do {
            _ = try await context.step("find") {
              1
            } commit: { db, _ in
              try db.execute(sql: "INSERT INTO book VALUES ('x')")
              throw Failure(.permanent)
            }
          } catch let error as Failure {
            rig.note("\(error.advice)")
          }
          _ = try await context.step("find") { 2 }
          rig.note("second")
        }
      }
      try rig.drain(worker)
      #expect(rig.notes() == ["0 permanent", "0 second"])
      #expect(try rig.titles().isEmpty)
    }
  }

  @Test func `a row that only the commit refuses fails its own job, and the next one goes on`()
    throws
  {
    try Rig.run { rig in
      try rig.database.write { db in
        try db.execute(
          sql: """
            CREATE TABLE shelf (id INTEGER PRIMARY KEY);
            CREATE TABLE place (
              shelf INTEGER REFERENCES shelf (id) DEFERRABLE INITIALLY DEFERRED)
            """)
      }
      let queue = try rig.open()
      let ids = try [rig.enqueue(queue, Tidy(name: "bad")), rig.enqueue(queue, Tidy(name: "good"))]
      let worker = JobWorker(queue) {
        $0.handle(Tidy.self) { job, context in
          _ = try await context.step("place") {
            true
          } commit: { db, _ in
            if job.name == "bad" { try db.execute(sql: "INSERT INTO place VALUES (7)") }
          }
        }
      }
      try rig.live(worker, until: 20)
      #expect(try rig.record(queue, ids[0]).state == .failed)
      #expect(try rig.record(queue, ids[1]).state == .done)
    }
  }

  @Test func `a value is replaced with the rows that it stands for, and found by the next attempt`()
    throws
  {
    try Rig.run { rig in
      let queue = try rig.open()
      _ = try rig.enqueue(queue, Tidy(name: ""))
      let worker = JobWorker(queue) {
        $0.handle(Tidy.self) { _, context in
          let last = try await context.value("last", as: Int.self) ?? 0
          rig.note("from \(last)")
          for event in last + 1...last + 2 {
            try await context.save("last", event) { db in
              try db.execute(sql: "INSERT INTO book VALUES (?)", arguments: ["\(event)"])
            }
          }
          if last < 4 { throw Failure(.failed) }
        }
      }
      try rig.live(worker, until: 50)
      #expect(rig.notes() == ["0 from 0", "1 from 2", "2 from 4"])
      #expect(try rig.titles() == ["1", "2", "3", "4", "5", "6"])
    }
  }

  @Test func `two steps of one name at once are refused, and only one of them commits`() throws {
    try Rig.run { rig in
      let queue = try rig.open()
      _ = try rig.enqueue(queue, Tidy(name: ""))
      let worker = JobWorker(queue) {
        $0.handle(Tidy.self) { _, context in
          @Sendable func find(_ context: JobContext) async throws {
            do {
              try await context.step("find") {
                rig.note("find")
                try await rig.sleep(1)
              } commit: { db in
                try db.execute(sql: "INSERT INTO book VALUES ('x')")
              }
            } catch let error as JobQueueError where error.code == .duplicateStep {
              rig.note("refused")
            }
          }
          // A context of its own for the same attempt: what memory lets pass the table refuses.
          let twin = JobContext(claim: context.claim, worker: context.worker)
          try await withThrowingDiscardingTaskGroup { group in
            for context in [context, context, twin] { group.addTask { try await find(context) } }
          }
          try await find(context)
        }
      }
      try rig.drain(worker)
      #expect(rig.notes().sorted() == ["0 find", "0 find", "0 refused", "1 refused"])
      #expect(try rig.titles() == ["x"])
    }
  }

  @Test func `an idempotency key is the same in every attempt and no other job's or database's`()
    throws
  {
    var all: [String] = []
    for seed in 1...2 as ClosedRange<UInt64> {
      try Rig.run(seed: seed) { rig in
        func keys() throws -> [String] {
          let queue = try rig.open()
          let worker = JobWorker(queue) {
            $0.handle(Tidy.self) { _, context in
              for name in ["photo", "text"] { rig.note(context.idempotencyKey(name)) }
              throw Failure(.failed)
            }
          }
          try rig.live(worker, until: rig.seconds + 5)
          return Set(rig.notes().map { String($0.split(separator: " ")[1]) }).sorted()
        }
        func enqueue() throws -> [JobID] {
          let queue = try rig.open()
          return try (1...2).map { _ in try rig.enqueue(queue, Tidy(name: "")) }
        }
        let ids = try enqueue()
        let first = try keys()
        #expect(first.count == 4)
        #expect(try keys() == first, "in another life")
        // A backup from before the jobs is restored, and others get their ids.
        let queue = try rig.open()
        try rig.write { db in
          for id in ids { try queue.remove(id, in: db) }
          try db.execute(sql: "UPDATE sqlite_sequence SET seq = 0 WHERE name = 'grdb_tern_job'")
        }
        #expect(try enqueue() == ids)
        all += try first + keys()
      }
    }
    #expect(Set(all).count == 16)
  }

  @Test func `a deadline is kept over attempts and restarts`() throws {
    try Rig.run { rig in
      var queue = try rig.open()
      let id = try rig.enqueue(queue, Tidy(name: ""))
      func worker() -> JobWorker {
        JobWorker(queue) {
          $0.handle(Tidy.self) { _, context in
            let left = try await context.remaining("stream", of: .seconds(300))
            rig.note("\(Int(left / .seconds(1)))")
            try await rig.clock.sleep(for: left)
          }
        }
      }
      try rig.live(worker(), until: 100)
      queue = try rig.open()
      try rig.live(worker(), until: 250)
      queue = try rig.open()
      try rig.live(worker(), until: 500)
      #expect(rig.notes() == ["0 300", "100 200", "250 50"])
      #expect(try rig.record(queue, id).state == .done)
      #expect(try rig.record(queue, id).since == Date(timeIntervalSince1970: 1_000_300))
    }
  }

  @Test func `a job whose stored deadline is damaged is parked with its reason`() throws {
    try Rig.run { rig in
      let queue = try rig.open()
      let id = try rig.enqueue(queue, Tidy(name: ""))
      let worker = JobWorker(queue) {
        $0.handle(Tidy.self) { _, context in
          _ = try await context.remaining("stream", of: .seconds(300))
          throw Failure(.failed)
        }
      }
      try rig.live(worker, until: 0.5)
      try rig.write { try $0.execute(sql: "UPDATE grdb_tern_jobcheckpoint SET content = x'7b'") }
      try rig.live(worker, until: 5)
      let record = try rig.record(queue, id)
      #expect(record.state == .parked)
      #expect(record.reason == "what “stream” stored cannot be read: it is damaged")
    }
  }

  @Test func `a job whose stored result has another type now is parked with its reason`() throws {
    try Rig.run { rig in
      var queue = try rig.open()
      let id = try rig.enqueue(queue, Tidy(name: ""))
      try rig.live(
        JobWorker(queue) {
          $0.handle(Tidy.self) { _, context in
            _ = try await context.step("find") { ["private"] }
            try await rig.sleep(10)
          }
        }, until: 5)
      queue = try rig.open()
      try rig.drain(
        JobWorker(queue) {
          $0.handle(Tidy.self) { _, context in _ = try await context.step("find") { 1 } }
        })
      let record = try rig.record(queue, id)
      #expect(record.state == .parked)
      #expect(record.reason == "what “find” stored cannot be read: a value has another type")
    }
  }

  @Test func `progress and message are seen while a job runs`() throws {
    try Rig.run { rig in
      rig.limits.messageLength = 10
      let queue = try rig.open()
      let id = try rig.enqueue(queue, Tidy(name: ""))
      let worker = JobWorker(queue) {
        $0.handle(Tidy.self) { _, context in
          try await context.report(progress: 0.5, message: "halfway through the shelf")
          let record = try rig.record(queue, id)
          rig.note("\(record.state) \(record.progress ?? 0) \(record.message ?? "")")
        }
      }
      try rig.drain(worker)
      #expect(rig.notes() == ["0 running 0.5 halfway t…"])
    }
  }

  @Test func `a job that was removed is told at its next checkpoint, and nothing is written`()
    throws
  {
    try Rig.run { rig in
      let queue = try rig.open()
      let id = try rig.enqueue(queue, Tidy(name: ""))
      let worker = JobWorker(queue) {
        $0.handle(Tidy.self) { _, context in
          let isRemoved = try rig.write { try queue.remove(id, in: $0) }
          #expect(isRemoved)
          do {
            try await context.step("late") {
            } commit: {
              try $0.execute(sql: "INSERT INTO book VALUES ('x')")
            }
          } catch let error as JobQueueError {
            rig.note(error.code == .notRunning ? "told" : "\(error)")
            throw error
          }
        }
      }
      try rig.drain(worker)
      #expect(rig.notes() == ["0 told"])
      #expect(try rig.titles().isEmpty)
      #expect(try rig.database.read(queue.records).isEmpty)
    }
  }
}
