import Foundation
import GRDB
import Tern
import TernCore
import TernJobs
import Testing

@Suite("Decision: gates of services")
struct GateTests {
  /// A service that takes no work before some second, and the jobs `1` to `count` for it.
  private func run(
    count: Int, concurrency: Int = 4, until end: Double,
    _ answer: @escaping @Sendable (Rig, String) async throws -> Void,
    _ check: (Rig, JobQueue, [JobID]) throws -> Void
  ) throws {
    try Rig.run { rig in
      let queue = try rig.open()
      let ids = try (1...count).map { try rig.enqueue(queue, Scan(shelf: "\($0)")) }
      try rig.live(worker(rig, queue, concurrency, answer), until: end)
      try check(rig, queue, ids)
    }
  }

  private func worker(
    _ rig: Rig, _ queue: JobQueue, _ concurrency: Int = 4,
    _ answer: @escaping @Sendable (Rig, String) async throws -> Void
  ) -> JobWorker {
    JobWorker(queue, concurrency: concurrency) {
      $0.handle(Scan.self) { job, context in
        rig.note("try \(job.shelf)")
        try await answer(rig, job.shelf)
        try await context.step("scan") {}
        rig.note("did \(job.shelf)")
      }
      $0.handle(Tidy.self) { job, _ in rig.note("tidy \(job.name)") }
    }
  }

  @Test func `a closed gate holds its service, and one probe goes first when it reopens`() throws {
    try run(
      count: 5, concurrency: 1, until: 100,
      { rig, _ in
        try await rig.sleep(1)
        if rig.seconds < 10 { throw Failure(.limited(delay: .seconds(30))) }
      },
      { rig, queue, ids in
        #expect(
          rig.notes() == [
            "0 try 1", "31 try 1", "32 did 1", "32 try 2", "33 did 2", "33 try 3", "34 did 3",
            "34 try 4", "35 did 4", "35 try 5", "36 did 5",
          ])
        let failures = try ids.map { try rig.record(queue, $0).failures }
        #expect(failures == [0, 0, 0, 0, 0])
        let gates = try rig.gates(queue)
        #expect(gates.isEmpty)
      })
  }

  @Test func `all that run are told, none loses an attempt, and only the probe goes first`() throws
  {
    try run(
      count: 6, until: 100,
      { rig, _ in
        try await rig.sleep(1)
        if rig.seconds < 10 { throw Failure(.limited(delay: .seconds(30))) }
      },
      { rig, queue, ids in
        let notes = rig.notes()
        #expect(Set(notes.prefix(4)) == ["0 try 1", "0 try 2", "0 try 3", "0 try 4"])
        #expect(notes[4...5] == ["31 try 1", "32 did 1"])
        #expect(notes[6...].filter { $0.hasPrefix("32 try") }.count == 4)
        let states = try ids.map { try rig.record(queue, $0).state }
        #expect(Set(states) == [.done])
      })
  }

  @Test func `jobs of one kind go to several services, and each has a gate of its own`() throws {
    try Rig.run { rig in
      let queue = try rig.open()
      try rig.write { db in
        for (shelf, service) in [("a1", "a"), ("a2", "a"), ("b1", "b"), ("b2", "b")] {
          try queue.enqueue(Scan(shelf: shelf), service: service, in: db)
        }
        try queue.enqueue(Scan(shelf: "free"), service: nil, in: db)
      }
      let worker = worker(rig, queue, 1) { rig, shelf in
        try await rig.sleep(1)
        if shelf.hasPrefix("a"), rig.seconds < 10 { throw Failure(.limited(delay: .seconds(30))) }
      }
      try rig.live(worker, until: 20)
      let gates = try rig.gates(queue)
      #expect(gates.map(\.service) == ["a"])
      #expect(
        rig.notes() == [
          "0 try a1", "1 try b1", "2 did b1", "2 try b2", "3 did b2", "3 try free", "4 did free",
        ])
      try rig.live(worker, until: 100)
      #expect(rig.notes() == ["31 try a1", "32 did a1", "32 try a2", "33 did a2"])
    }
  }

  #if Rehearsal
  @Test func `a gate that is ignored is noticed`() throws {
    try Planted.with(.gateIgnored) {
      try run(
        count: 2, concurrency: 1, until: 20,
        { rig, _ in
          try await rig.sleep(1)
          throw Failure(.limited(delay: .seconds(30)))
        },
        { rig, _, _ in #expect(rig.notes().count > 2) })
    }
  }
  #endif

  @Test func `when the gate is open and when it reopens can be seen`() throws {
    try run(
      count: 1, until: 5, { _, _ in throw Failure(.limited(delay: .seconds(30))) },
      { rig, queue, _ in
        let gate = try #require(try rig.gates(queue).first)
        #expect(gate.service == "recogniser")
        #expect(gate.reopensAt == Date(timeIntervalSince1970: 1_000_030))
        let shown = try rig.database.read {
          try String.fetchOne($0, sql: "SELECT gate_reopens_at FROM grdb_tern_jobs")
        }
        #expect(shown == "1970-01-12T13:47:10.000Z")
      })
  }

  @Test func `a gate that no job waits for any more is not shown, and still holds`() throws {
    try run(
      count: 1, until: 5, { _, _ in throw Failure(.limited(delay: .seconds(30))) },
      { rig, queue, ids in
        try rig.write { _ = try queue.remove(ids[0], in: $0) }
        #expect(try rig.gates(queue).isEmpty)
        let id = try rig.enqueue(queue, Scan(shelf: "2"))
        #expect(try rig.gates(queue).map(\.service) == ["recogniser"])
        try rig.live(worker(rig, queue) { _, _ in }, until: 50)
        #expect(rig.notes() == ["0 try 1", "30 try 2", "30 did 2"])
        #expect(try rig.record(queue, id).state == .done)
      })
  }

  @Test func `a service that does not say when is left alone for half a minute`() throws {
    try run(
      count: 1, until: 40,
      { rig, _ in if rig.seconds < 20 { throw Failure(.limited(delay: nil)) } },
      { rig, _, _ in #expect(rig.notes() == ["0 try 1", "30 try 1", "30 did 1"]) })
  }

  @Test func `a probe that is told to wait closes the gate again`() throws {
    try run(
      count: 2, until: 60,
      { rig, _ in if rig.seconds < 25 { throw Failure(.limited(delay: .seconds(10))) } },
      { rig, _, _ in
        let notes = rig.notes()
        #expect(Set(notes[0...1]) == ["0 try 1", "0 try 2"])
        #expect(
          notes[2...] == ["10 try 1", "20 try 1", "30 try 1", "30 did 1", "30 try 2", "30 did 2"])
      })
  }

  @Test func `a probe that fails otherwise hands on to the next`() throws {
    try run(
      count: 2, concurrency: 1, until: 60,
      { rig, shelf in
        if rig.seconds < 5 { throw Failure(.limited(delay: .seconds(10))) }
        try await rig.sleep(0.5)
        if rig.seconds < 11 { throw Failure(.failed) }
      },
      { rig, queue, ids in
        #expect(
          rig.notes() == [
            "0 try 1", "10 try 1", "10.5 try 2", "11 did 2", "11.5 try 1", "12 did 1",
          ])
      })
  }

  @Test func `other services and jobs without one go on`() throws {
    try Rig.run { rig in
      let queue = try rig.open()
      _ = try rig.enqueue(queue, Scan(shelf: "1"))
      _ = try rig.enqueue(queue, Tidy(name: "a"))
      _ = try rig.enqueue(queue, Scan(shelf: "2"))
      _ = try rig.enqueue(queue, Tidy(name: "b"))
      let worker = worker(rig, queue, 1) { _, _ in throw Failure(.limited(delay: .seconds(10))) }
      try rig.live(worker, until: 5)
      #expect(rig.notes() == ["0 try 1", "0 tidy a", "0 tidy b"])
    }
  }

  @Test func `a gate and its probe hold over a restart`() throws {
    try Rig.run { rig in
      var queue = try rig.open()
      for shelf in 1...2 { _ = try rig.enqueue(queue, Scan(shelf: "\(shelf)")) }
      try rig.live(
        worker(rig, queue, 1) { _, _ in throw Failure(.limited(delay: .seconds(30))) }, until: 10)
      queue = try rig.open()
      // The probe is under way as this life ends.
      try rig.live(worker(rig, queue) { rig, _ in try await rig.sleep(100) }, until: 40)
      #expect(try rig.gates(queue).map(\.probe) == [nil])
      queue = try rig.open()
      try rig.live(worker(rig, queue) { rig, _ in try await rig.sleep(1) }, until: 60)
      #expect(
        rig.notes() == [
          "0 try 1", "30 try 1", "40 try 1", "41 did 1", "41 try 2", "42 did 2",
        ])
    }
  }

  @Test(arguments: [true, false])
  func `what a service says to a job that is cancelled or removed holds for the others`(
    _ isRemoved: Bool
  ) throws {
    try Rig.run { rig in
      let queue = try rig.open()
      let ids = try ["1", "2"].map { try rig.enqueue(queue, Scan(shelf: $0)) }
      let worker = worker(rig, queue, 1) { rig, shelf in
        guard shelf == "1" else { return }
        // The answer is there as the cancellation comes.
        try? await rig.sleep(10)
        throw Failure(.limited(delay: .seconds(30)))
      }
      try rig.perform {
        try await worker.run {
          try await rig.sleep(5)
          try rig.write { db in
            _ = try isRemoved ? queue.remove(ids[0], in: db) : queue.cancel(ids[0], in: db)
          }
          try await rig.sleep(50)
        }
      }
      #expect(rig.notes() == ["0 try 1", "35 try 2", "35 did 2"])
    }
  }

  @Test func `services whose names differ in their bytes alone have a gate each`() throws {
    try Rig.run { rig in
      var queue = try rig.open()
      // Equal to Swift.
      let names = ["cafe\u{301}", "caf\u{e9}"]
      try rig.write { db in
        for (shelf, name) in zip(["1", "2"], names) {
          try queue.enqueue(Scan(shelf: shelf), service: name, in: db)
        }
      }
      let answer: @Sendable (Rig, String) async throws -> Void = { rig, shelf in
        if rig.seconds < 5 { throw Failure(.limited(delay: .seconds(shelf == "1" ? 10 : 20))) }
      }
      try rig.live(worker(rig, queue, 1, answer), until: 5)
      queue = try rig.open()
      #expect(try rig.gates(queue).map { Array($0.service.utf8) } == names.map { Array($0.utf8) })
      try rig.live(worker(rig, queue, 1, answer), until: 30)
      #expect(
        rig.notes() == ["0 try 1", "0 try 2", "10 try 1", "10 did 1", "20 try 2", "20 did 2"])
    }
  }

  @Test func `a gate that has reopened and that nobody waits for is gone with the next run`() throws
  {
    try Rig.run { rig in
      let queue = try rig.open()
      func services() throws -> [String] {
        try rig.database.read {
          try String.fetchAll($0, sql: "SELECT service FROM grdb_tern_jobgate ORDER BY service")
        }
      }
      let ids = try rig.write { db in
        try ["due", "later", "unused"].map {
          try queue.enqueue(Scan(shelf: $0), service: $0, in: db)
        }
      }
      let worker = worker(rig, queue) { _, _ in throw Failure(.limited(delay: .seconds(30))) }
      try rig.live(worker, until: 5)
      try rig.write { db in
        for id in ids { try queue.cancel(id, in: db) }
        try queue.pause(in: db)
        try queue.enqueue(Scan(shelf: "1"), service: "due", in: db)
        try queue.enqueue(Scan(shelf: "2"), after: .seconds(500), service: "later", in: db)
      }
      try rig.live(worker, until: 20)
      // It has not reopened.
      #expect(try services() == ["due", "later", "unused"])
      try rig.perform { try await rig.sleep(20) }
      try rig.live(worker, until: 50)
      #expect(try services() == ["due", "later"])
    }
  }
}
