import GRDB
import Synchronization
import Tern
import Testing

/// What is told of a queue's transactions where the disk fails.
@Suite("Jobs on a disk that fails")
struct JobFaultTests {
  private struct Tidy: Job {
    static let kind = "tidy"
  }

  /// Notes what becomes of which job.
  private final class Witness: JobObserver {
    private let noted = Mutex<[String]>([])
    var notes: [String] { noted.withLock { $0 } }

    func observe(_ event: JobEvent) {
      let word: String? =
        switch event.change {
        case .enqueued: "enqueued"
        case .started: "started"
        case .done: "done"
        default: nil
        }
      if let word { noted.withLock { $0.append("\(event.job) \(word)") } }
    }
  }

  @Test("what a commit of the worker's would have done is not told, if the commit fails")
  func failedCommit() async throws {
    let (disk, witness) = (try Disk(), Witness())
    let database = try DatabasePool(path: disk.path("app.sqlite"))
    let queue = try await JobQueue.open(
      database, environment: JobEnvironment(observers: [witness]))
    try await database.write { _ = try queue.enqueue(Tidy(), in: $0) }
    let worker = JobWorker(queue) {
      // A log in WAL mode is written as a transaction is committed, and not before.
      $0.handle(Tidy.self) { _, _ in disk.arm(Fault.writeError.armed(at: 1, seed: 0)) }
    }
    let error = await #expect(throws: DatabaseError.self) { try await worker.drain() }
    #expect(error?.resultCode == .SQLITE_IOERR)
    #expect(disk.wasHit)
    disk.disarm()
    try await database.write { _ = try queue.enqueue(Tidy(), in: $0) }
    #expect(witness.notes == ["1 enqueued", "1 started", "2 enqueued"])
  }

  @Test("a job ends for good although the app's commit behind its claim failed")
  func failedAppCommit() async throws {
    let disk = try Disk()
    let database = try DatabasePool(path: disk.path("app.sqlite"))
    try await database.write { try $0.execute(sql: "CREATE TABLE page (id INTEGER PRIMARY KEY)") }
    let queue = try await JobQueue.open(database)
    try await database.write { _ = try queue.enqueue(Tidy(), in: $0) }
    let worker = JobWorker(queue) {
      $0.handle(Tidy.self) { _, _ in
        // Linux takes for written what a sync could not write, the claim before it too.
        disk.arm(Fault.syncForgets.armed(at: 1, seed: 0))
        await #expect(throws: DatabaseError.self) {
          try await database.write { try $0.execute(sql: "INSERT INTO page VALUES (1)") }
        }
        #expect(disk.wasHit)
        disk.disarm()
      }
    }
    try await worker.drain()
    try disk.cyclePower(keeping: .none)
    // It has lost its disk, and says so.
    try? database.close()
    let later = try DatabasePool(path: disk.path("app.sqlite"))
    let queueLater = try await JobQueue.open(later)
    #expect(try await later.read { try queueLater.records(in: $0) }.map(\.state) == [.done])
  }
}
