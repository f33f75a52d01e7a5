import Foundation
import GRDB
import Tern
import Testing

@testable import TernJobs

/// Steps with a limit on their time, in each of their shapes.
@Suite("Worker: steps with a limit on their time")
struct StepLimitTests {
  @Test func `a step without a result that takes too long is cancelled, and counts`() throws {
    try Rig.run { rig in
      let queue = try rig.open()
      let id = try rig.enqueue(queue, Tidy(name: "a"))
      let worker = JobWorker(queue) {
        $0.handle(Tidy.self) { _, context in
          let length = context.attempt == 1 ? 100.0 : 1.0
          try await context.step("slow", within: .seconds(5)) {
            rig.note("try")
            try await rig.sleep(length)
          } commit: { db in
            try db.execute(sql: "INSERT INTO book VALUES ('done')")
          }
          // What was done is not limited any more.
          try await context.step("slow", within: .zero) { rig.note("again") }
        }
      }
      try rig.live(worker, until: 20)
      #expect(rig.notes() == ["0 try", "6 try"])
      #expect(try rig.titles() == ["done"])
      let record = try rig.record(queue, id)
      #expect(record.state == .done && record.starts == 2)
    }
  }

  @Test func `a step with files that takes too long leaves none, and keeps what it gave up`() throws
  {
    try Rig.run { rig in
      let queue = try rig.open()
      let photo = try rig.perform { try await queue.attach(Data("photo".utf8), as: "photo") }
      let id = try rig.enqueue(queue, Tidy(name: "a"), files: [photo])
      let worker = JobWorker(queue) {
        $0.handle(Tidy.self) { _, context in
          let length = context.attempt == 1 ? 100.0 : 1.0
          #expect(try rig.storedFiles().count == 1)
          let text = try await context.step("crop", within: .seconds(5)) { files in
            let text = try String(contentsOf: context.file("photo"), encoding: .utf8)
            try Data("crop of \(text)".utf8).write(to: files.create("crop"))
            files.release("photo")
            try await rig.sleep(length)
            return text
          } commit: { db, text in
            try db.execute(sql: "INSERT INTO book VALUES (?)", arguments: [text])
          }
          let crop = try String(contentsOf: context.file("crop"), encoding: .utf8)
          rig.note("\(text), \(crop)")
          #expect(throws: JobQueueError.self) { try context.file("photo") }
        }
      }
      try rig.live(worker, until: 20)
      #expect(rig.notes() == ["7 photo, crop of photo"])
      #expect(try rig.titles() == ["photo"])
      #expect(try rig.storedFiles().isEmpty)
      let record = try rig.record(queue, id)
      #expect(record.state == .done && record.starts == 2)
    }
  }

  @Test func `a handler knows its job's kind, lane, service and start`() throws {
    try Rig.run { rig in
      let queue = try rig.open()
      try rig.write { db in
        try queue.enqueue(Scan(shelf: "A"), lane: "ada", in: db)
        try queue.enqueue(Tidy(name: "b"), in: db)
      }
      let says = { @Sendable (context: JobContext) in
        "\(context.kind) \(context.lane ?? "-") \(context.service ?? "-") \(context.start)"
      }
      let worker = JobWorker(queue) {
        $0.handle(Scan.self) { _, context in
          rig.note(says(context))
          if context.start == 1 { throw Failure(.failed) }
        }
        $0.handle(Tidy.self) { _, context in rig.note(says(context)) }
      }
      try rig.live(worker, until: 10)
      #expect(
        rig.notes().sorted() == [
          "0 scan ada recogniser 1", "0 tidy - - 1", "1 scan ada recogniser 2",
        ])
    }
  }
}
