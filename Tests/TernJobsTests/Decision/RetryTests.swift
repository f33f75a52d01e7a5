import Foundation
import GRDB
import Tern
import TernJobs
import Testing

@Suite("Decision: which failures count, and when a job is tried again")
struct RetryTests {
  /// Runs one job whose attempts fail in turn as told; `nil` succeeds.
  private func attempts(
    _ job: some Job, until end: Double = 200, draw: Double = 1, _ errors: [(any Error)?],
    also: @escaping @Sendable (Rig, Int) async throws -> Void = { _, _ in }
  ) throws -> (notes: [String], record: JobRecord) {
    var result: (notes: [String], record: JobRecord)?
    try Rig.run { rig in
      rig.draw = draw
      let queue = try rig.open()
      let id = try rig.enqueue(queue, job)
      let run = errors.count
      let worker = JobWorker(queue, path: rig.path) {
        $0.handle(type(of: job)) { _, context in
          let started = try rig.record(queue, context.id).starts
          rig.note("\(context.attempt)")
          try await also(rig, started)
          if started <= run, let error = errors[started - 1] { throw error }
        }
      }
      try rig.live(worker, until: end)
      result = (rig.notes(), try rig.record(queue, id))
    }
    return result!
  }

  @Test func `what fails is tried again after exactly 1, 2 and 4 seconds and no more`() throws {
    let (notes, record) = try attempts(
      Tidy(name: ""), Array(repeating: Failure(.failed), count: 9))
    #expect(notes == ["0 1", "1 2", "3 3", "7 4"])
    #expect(record.state == .failed)
    #expect(record.reason == "the service would not")
    #expect(record.failures == 4)
  }

  @Test(
    arguments: [
      (0, ["0 1", "4 2", "12 3", "22 4"], ["0 1", "0 2", "0 3"]),
      (0.25, ["0 1", "5 2", "15 3", "27.5 4"], ["0 1", "2 2", "6 3"]),
      (1, ["0 1", "8 2", "24 3", "44 4"], ["0 1", "8 2", "24 3"]),
    ] as [(Double, [String], [String])])
  func `a retry waits for the half of its delay that is not left to chance, or for none of it`(
    draw: Double, half: [String], all: [String]
  ) throws {
    let errors = Array(repeating: Failure(.failed), count: 9)
    #expect(try attempts(Halfway(), draw: draw, errors).notes == half)
    #expect(try attempts(Anyhow(), draw: draw, errors).notes == all)
    #expect(try attempts(Tidy(name: ""), draw: draw, errors).notes == ["0 1", "1 2", "3 3", "7 4"])
  }

  @Test func `a retry that succeeds is the end`() throws {
    let (notes, record) = try attempts(Tidy(name: ""), [Failure(.failed), Failure(.failed), nil])
    #expect(notes == ["0 1", "1 2", "3 3"])
    #expect(record.state == .done)
  }

  @Test func `an error that says nothing counts, and its content is not stored`() throws {
    let (notes, record) = try attempts(
      Tidy(name: ""), Array(repeating: Silent.because(secret: "hush"), count: 9))
    #expect(notes.count == 4)
    #expect(record.reason == "Silent.because")
  }

  @Test func `a failure's cause is told in its own words or by its type`() throws {
    let unsaid = JobFailure(.failed, "reading", underlyingError: Silent.because(secret: "hush"))
    let (notes, record) = try attempts(
      Tidy(name: ""), [JobFailure(.permanent, "the scan is lost", underlyingError: unsaid)])
    #expect(notes == ["0 1"])
    #expect(record.reason == "the scan is lost: reading: Silent.because")
  }

  @Test func `another policy is the job's own`() throws {
    let (notes, _) = try attempts(Patient(), Array(repeating: Failure(.failed), count: 9))
    #expect(notes == ["0 1", "10 2", "30 3", "50 4"])
  }

  @Test func `what no repetition helps fails at once`() throws {
    let (notes, record) = try attempts(Tidy(name: ""), [Failure(.permanent)])
    #expect(notes == ["0 1"])
    #expect(record.state == .failed)
  }

  @Test func `reaching nobody never counts, and waits grow up to a minute`() throws {
    let (notes, record) = try attempts(
      Tidy(name: ""), until: 250, Array(repeating: Failure(.unreachable), count: 99))
    #expect(notes == ["0", "1", "3", "7", "15", "31", "63", "123", "183", "243"].map { $0 + " 1" })
    #expect(record.state == .waiting)
    #expect(record.failures == 0)
  }

  @Test func `another network wakes whoever reached nobody`() throws {
    let (notes, record) = try attempts(
      Tidy(name: ""), until: 100, Array(repeating: Failure(.unreachable), count: 2) + [nil]
    ) { rig, start in
      if start == 2 {
        rig.path.set(hasRoute: false)
        try await rig.sleep(2)
      }
    }
    // Without a route it is still tried after a minute.
    #expect(notes == ["0 1", "1 1", "63 1"])
    #expect(record.state == .done)
    try Rig.run { rig in
      // Those that are woken wait for no time.
      rig.draw = 0
      let queue = try rig.open()
      let ids = try (1...3).map { try rig.enqueue(queue, Tidy(name: "\($0)")) }
      rig.path.set(hasRoute: false)
      let worker = JobWorker(queue, path: rig.path) {
        $0.handle(Tidy.self) { job, context in
          rig.note(job.name)
          if !rig.path.path.hasRoute { throw Failure(.unreachable) }
        }
        $0.handle(Scan.self) { _, _ in
          try await rig.sleep(20)
          rig.path.set(hasRoute: true)
        }
      }
      _ = try rig.enqueue(queue, Scan(shelf: ""))
      try rig.live(worker, until: 50)
      #expect(Set(rig.notes()) == ["0 1", "0 2", "0 3", "20 1", "20 2", "20 3"])
      for id in ids { #expect(try rig.record(queue, id).state == .done) }
    }
  }

  @Test(arguments: [
    (isLocal: false, changes: false, counts: true), (false, true, false), (true, true, true),
  ])
  func `what broke off counts when the network stood or was not needed`(
    _ isLocal: Bool, _ changes: Bool, _ counts: Bool
  ) throws {
    let (_, record) = try attempts(
      Tidy(name: ""), until: 0.5,
      [Failure(.interrupted(isLocal: isLocal))]
        + Array(repeating: Failure(.unreachable), count: 9)
    ) { rig, start in
      if changes, start == 1 { rig.path.set(hasRoute: true) }
    }
    #expect(record.failures == (counts ? 1 : 0))
    #expect(record.state == .waiting)
  }

  @Test func `a checkpoint forgets the failures before it`() throws {
    try Rig.run { rig in
      let queue = try rig.open()
      let id = try rig.enqueue(queue, Tidy(name: ""))
      let worker = JobWorker(queue) {
        $0.handle(Tidy.self) { _, context in
          rig.note("\(context.attempt)")
          let start = try rig.record(queue, id).starts
          if start == 3 { try await context.step("half") {} }
          throw Failure(.failed)
        }
      }
      try rig.live(worker, until: 100)
      #expect(rig.notes() == ["0 1", "1 2", "3 3", "4 2", "6 3", "10 4"])
    }
  }

  @Test func `a failed job that is retried has all its attempts again`() throws {
    try Rig.run { rig in
      let queue = try rig.open()
      let id = try rig.enqueue(queue, Tidy(name: ""))
      let worker = JobWorker(queue) {
        $0.handle(Tidy.self) { _, context in
          rig.note("\(context.attempt)")
          throw Failure(.failed)
        }
        $0.handle(Patient.self) { _, _ in
          try await rig.sleep(20)
          let isRetried = try rig.write { try queue.retry(id, in: $0) }
          #expect(isRetried)
        }
      }
      _ = try rig.enqueue(queue, Patient())
      try rig.live(worker, until: 100)
      #expect(
        rig.notes() == ["0 1", "1 2", "3 3", "7 4", "20 1", "21 2", "23 3", "27 4"])
    }
  }

  @Test func `all that failed or is parked is retried at once, and nothing else`() throws {
    try Rig.run { rig in
      let queue = try rig.open()
      for name in ["fails", "works", "fails too"] {
        _ = try rig.enqueue(queue, Tidy(name: name))
      }
      _ = try rig.enqueue(queue, Patient())
      let worker = JobWorker(queue) {
        $0.handle(Tidy.self) { job, _ in
          if job.name != "works" { throw Failure(.permanent) }
        }
      }
      try rig.drain(worker)
      let states = { try rig.database.read { try queue.records(in: $0) }.map(\.state) }
      #expect(try states() == [.failed, .done, .failed, .parked])
      #expect(try rig.write { try queue.retryAll(in: $0) } == 3)
      #expect(try states() == [.waiting, .done, .waiting, .waiting])
      #expect(try rig.write { try queue.retryAll(in: $0) } == 0)
    }
  }

  @Test func `a new run tries again what reached nobody in the last one`() throws {
    try Rig.run { rig in
      let queue = try rig.open()
      let id = try rig.enqueue(queue, Tidy(name: ""))
      rig.path.set(hasRoute: false)
      let worker = JobWorker(queue, path: rig.path) {
        $0.handle(Tidy.self) { _, _ in
          rig.note("try")
          if !rig.path.path.hasRoute { throw Failure(.unreachable) }
        }
      }
      try rig.drain(worker)
      #expect(try rig.record(queue, id).state == .waiting)
      rig.path.set(hasRoute: true)
      try rig.perform { try await rig.sleep(5) }
      try rig.drain(worker)
      #expect(rig.notes() == ["0 try", "5 try"])
      #expect(try rig.record(queue, id).state == .done)
    }
  }

  @Test func `a network that comes while a failure waits to be stored wakes it at once`() throws {
    try Rig.run(.pool) { rig in
      let queue = try rig.open()
      try rig.write { try queue.enqueue(Tidy(name: ""), priority: 1, in: $0) }
      let path = rig.files.path.replacing("/files", with: "/app.sqlite")
      let other = try DatabaseQueue.leavingTransactionsOpen(path)
      let worker = JobWorker(queue, path: rig.path) {
        $0.handle(Tidy.self) { _, context in
          rig.note("try")
          guard rig.seconds == 0 else { return }
          try other.inDatabase { try $0.execute(sql: "BEGIN IMMEDIATE") }
          throw Failure(.unreachable)
        }
      }
      try rig.perform {
        try await worker.run {
          // The next look for the lock is 0.63 seconds after the first.
          try await rig.sleep(0.5)
          try rig.endTransaction(of: other)
          try await rig.sleep(0.05)
          rig.path.set(hasRoute: false)
          rig.path.set(hasRoute: true)
          try await rig.sleep(5)
        }
      }
      #expect(rig.notes() == ["0 try", "0.63 try"])
    }
  }

  @Test func `another network shortens no wait that was asked for, without a service too`() throws {
    try Rig.run { rig in
      let queue = try rig.open()
      _ = try rig.enqueue(queue, Tidy(name: ""))
      let worker = JobWorker(queue, path: rig.path) {
        $0.handle(Tidy.self) { _, _ in
          rig.note("try")
          if rig.seconds == 0 { throw Failure(.unreachable) }
          if rig.seconds < 50 { throw Failure(.limited(delay: .seconds(100))) }
        }
      }
      try rig.live(worker, until: 200) {
        try await rig.sleep(20)
        rig.path.set(hasRoute: true)
      }
      #expect(rig.notes() == ["0 try", "1 try", "101 try"])
    }
  }
}

extension Rig {
  fileprivate func endTransaction(of database: DatabaseQueue) throws {
    try database.inDatabase { try $0.execute(sql: "COMMIT") }
  }
}
