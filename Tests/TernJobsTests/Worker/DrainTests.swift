import GRDB
import Synchronization
import Tern
import TernJobs
import Testing

/// One an hour.
private struct Rare: Job {
  static let kind = "rare"
  static let service: String? = "recogniser"
  static let pace = JobPace(rate: JobRate(1, per: .seconds(3600)))
}

@Suite("Worker: draining a queue")
struct DrainTests {
  /// What a worker does that is drained with a patience, when each start of a job is answered so.
  private func notes(
    waiting patience: Duration, count: Int = 1,
    _ answer: @escaping @Sendable (Rig, _ start: Int) throws -> Void
  ) throws -> (notes: [String], end: Double, states: [JobState]) {
    var outcome: (notes: [String], end: Double, states: [JobState]) = ([], 0, [])
    try Rig.run { rig in
      let queue = try rig.open()
      for number in 1...count { _ = try rig.enqueue(queue, Scan(shelf: "\(number)")) }
      let starts = Mutex(0)
      let worker = JobWorker(queue) {
        $0.handle(Scan.self) { _, _ in
          rig.note("try")
          try answer(
            rig,
            starts.withLock {
              $0 += 1
              return $0
            })
        }
      }
      try rig.drain(worker, waiting: patience)
      let states = try rig.database.read { try queue.records(in: $0) }.map(\.state)
      outcome = (rig.notes(), rig.seconds, states)
    }
    return outcome
  }

  @Test func `without patience the first wait ends it`() throws {
    let (notes, end, states) = try notes(waiting: .zero) { _, _ in throw Failure(.failed) }
    #expect(notes == ["0 try"])
    #expect(end == 0)
    #expect(states == [.waiting])
  }

  @Test func `what waits is returned, with what it waits for`() throws {
    try Rig.run { rig in
      let queue = try rig.open()
      let scan = try rig.enqueue(queue, Scan(shelf: "1"))
      let tidy = try rig.enqueue(queue, Tidy(name: "a"))
      try rig.write { try queue.pause(Tidy.kind, in: $0) }
      let worker = JobWorker(queue) {
        $0.handle(Scan.self) { _, _ in throw Failure(.failed) }
        $0.handle(Tidy.self) { _, _ in }
      }
      let waits = try rig.perform { try await worker.drain() }
      #expect(waits.map(\.job) == [scan, tidy])
      #expect(waits.map(\.reason) == [.time(try rig.record(queue, scan).readyAt), .pause])
      #expect(waits.first?.failure == "the service would not")
      try rig.write { try queue.resume(Tidy.kind, in: $0) }
      // What has failed waits for nothing.
      #expect(try rig.perform { try await worker.drain(waiting: .seconds(60)) } == [])
    }
  }

  @Test func `retries are waited for, until the job has failed for good`() throws {
    let (notes, end, states) = try notes(waiting: .seconds(60)) { _, _ in throw Failure(.failed) }
    #expect(notes == ["0 try", "1 try", "3 try", "7 try"])
    #expect(end == 7)
    #expect(states == [.failed])
  }

  @Test func `a retry after the time is not waited for`() throws {
    let (notes, end, states) = try notes(waiting: .seconds(6)) { _, _ in throw Failure(.failed) }
    #expect(notes == ["0 try", "1 try", "3 try"])
    #expect(end == 3)
    #expect(states == [.waiting])
  }

  @Test func `a gate that reopens in time is waited for, again and again`() throws {
    let (notes, end, states) = try notes(waiting: .seconds(60), count: 2) { _, start in
      if start < 5 { throw Failure(.limited(delay: .seconds(20))) }
    }
    #expect(notes == ["0 try", "0 try", "20 try", "40 try", "60 try", "60 try"])
    #expect(end == 60)
    #expect(states == [.done, .done])
  }

  @Test func `a gate that is closed for long is not waited for`() throws {
    let (notes, end, states) = try notes(waiting: .seconds(60)) { _, _ in
      throw Failure(.limited(delay: .seconds(61)))
    }
    #expect(notes == ["0 try"])
    #expect(end == 0)
    #expect(states == [.waiting])
  }

  @Test func `the network is not waited for, but a gate behind which it was found is`() throws {
    let unreached = try notes(waiting: .seconds(60)) { _, _ in throw Failure(.unreachable) }
    #expect(unreached.notes == ["0 try"])
    #expect(unreached.end == 0)
    let found = try notes(waiting: .seconds(60), count: 2) { _, start in
      // The first reaches nobody, the second is told to come back.
      if start == 1 { throw Failure(.unreachable) }
      if start == 2 { throw Failure(.limited(delay: .seconds(5))) }
    }
    #expect(found.notes == ["0 try", "0 try", "5 try", "5 try"])
    #expect(found.states == [.done, .done])
  }

  @Test func `a pace behind a gate that has reopened is not waited for beyond the patience`() throws
  {
    try Rig.run { rig in
      let queue = try rig.open()
      _ = try rig.enqueue(queue, Rare())
      let worker = JobWorker(queue) {
        $0.handle(Rare.self) { _, _ in
          rig.note("try")
          throw Failure(.limited(delay: .seconds(30)))
        }
      }
      try rig.drain(worker)
      try rig.perform { try await rig.sleep(60) }
      for patience in [0, 3000] { try rig.drain(worker, waiting: .seconds(patience)) }
      #expect(rig.seconds == 60)
      // Within it the pace lets the job go, and the gate that closes then is waited for.
      try rig.drain(worker, waiting: .seconds(3600))
      #expect(rig.seconds == 3630)
      #expect(rig.notes() == ["0 try", "3600 try"])
    }
  }
}
