import GRDB
import GRDBSQLite
import Rehearsals
import Synchronization
import Tern
import TernDatabase
import TernJobs
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

  @Test("a disk that is full in the middle of a step's commit costs no attempt")
  func fullInCommit() async throws {
    let disk = try Disk()
    // With a journal that keeps what was there before, which is written at once.
    let database = try DatabaseQueue(path: disk.path("app.sqlite"))
    try await database.write { db in
      try db.execute(sql: "CREATE TABLE note (text); INSERT INTO note VALUES ('old')")
    }
    let queue = try await JobQueue.open(database)
    try await database.write { _ = try queue.enqueue(Tidy(), in: $0) }
    let worker = JobWorker(queue) {
      $0.handle(Tidy.self) { _, context in
        // There is room for what is smaller.
        defer { disk.disarm() }
        try await context.step("note", {}) { db in
          if context.start < 6 { disk.arm(Fault.diskFull.armed(at: 1, seed: 0)) }
          try db.execute(sql: "UPDATE note SET text = 'new'")
        }
      }
    }
    for _ in 1...5 {
      let error = await #expect(throws: DatabaseError.self) { try await worker.drain() }
      #expect(error?.resultCode == .SQLITE_FULL)
      #expect(try await Self.record(queue, in: database).failures == 0)
    }
    try await worker.drain()
    #expect(try await Self.record(queue, in: database).state == .done)
    #expect(try await database.read { try String.fetchOne($0, sql: "SELECT * FROM note") } == "new")
  }

  private struct Linger: Job {
    static let kind = "linger"
  }

  private final class Flag: Sendable {
    let isSet = Mutex(false)
  }

  @Test("what the database refuses to a job's commit is no process's death, for whoever works next")
  func refusedByDatabase() async throws {
    let disk = try Disk()
    let database = try await Self.filled(disk)
    let mayEnd = Flag()
    @Sendable func worker() async throws -> (JobQueue, JobWorker) {
      // As another process opens it.
      let queue = try await JobQueue.open(database)
      let worker = JobWorker(queue) {
        $0.handle(Linger.self) { _, _ in
          // real time: nobody waits for the hour, the job is cancelled.
          if !mayEnd.isSet.withLock({ $0 }) { try await Task.sleep(for: .seconds(3600)) }
        }
        $0.handle(Tidy.self) { _, context in
          try await context.step("fill", {}) { db in
            if context.start <= 6 { disk.arm(Fault.writeError.armed(at: 1, seed: 0)) }
            try Self.fill(db, 100..<200)
          }
        }
      }
      return (queue, worker)
    }
    do {
      let (queue, _) = try await worker()
      try await database.write { db in
        _ = try queue.enqueue(Linger(), in: db)
        _ = try queue.enqueue(Tidy(), in: db)
      }
    }
    for _ in 1...6 {
      let (queue, worker) = try await worker()
      await #expect(throws: DatabaseError.self) { try await worker.drain() }
      #expect(disk.wasHit)
      disk.disarm()
      let records = try await database.read { try queue.records(in: $0) }
      #expect(records.map(\.state) == [.waiting, .waiting])
    }
    mayEnd.isSet.withLock { $0 = true }
    let (queue, worker) = try await worker()
    try await worker.drain()
    #expect(
      try await database.read { try queue.records(in: $0) }.map(\.state) == [.done, .done])
  }

  private static func record(_ queue: JobQueue, in database: some DatabaseReader) async throws
    -> JobRecord
  {
    try #require(try await database.read { try queue.records(in: $0) }.first)
  }

  // MARK: - A sync that fails and forgets

  /// What goes on after a commit of the app's has failed.
  enum Meanwhile: CaseIterable {
    case nothing
    case secondCommit
    case rollback
    /// By an observer that is asked before whoever knows of the failure.
    case refusal
    case reader
    case checkpoint
  }

  @Test(
    "a job ends for good although the app's commit behind its claim failed",
    arguments: Meanwhile.allCases)
  func failedAppCommit(_ meanwhile: Meanwhile) async throws {
    let disk = try Disk()
    let database = try await Self.filled(disk)
    let refusal = Refusal(isActive: false)
    database.add(transactionObserver: refusal)
    let queue = try await JobQueue.open(database)
    try await database.write { _ = try queue.enqueue(Tidy(), in: $0) }
    let other = try DatabaseQueue(path: disk.path("app.sqlite"))
    let reader = Mutex<DatabaseSnapshot?>(nil)
    let worker = JobWorker(queue) {
      $0.handle(Tidy.self) { _, _ in
        // The claim before it too.
        await Self.forget(100..<200, in: database, on: disk)
        switch meanwhile {
        case .nothing: break
        case .secondCommit: try await database.write { try Self.fill($0, 100..<200) }
        case .rollback:
          await #expect(throws: CancellationError.self) {
            try await database.write { _ in throw CancellationError() }
          }
        case .refusal:
          refusal.isActive.withLock { $0 = true }
          await #expect(throws: Refusal.Refused.self) {
            try await database.write { try Self.fill($0, 100..<200) }
          }
          refusal.isActive.withLock { $0 = false }
        case .reader: try reader.withLock { $0 = try database.makeSnapshot() }
        case .checkpoint: try await other.write { try $0.holdCheckpointLock() }
        }
      }
    }
    try await worker.drain()
    try disk.cyclePower(keeping: .none)
    let later = try Self.reopened(disk, after: database)
    #expect(try await later.read(Self.count) == (meanwhile == .secondCommit ? 200 : 100))
    let queueLater = try await JobQueue.open(later)
    #expect(try await later.read { try queueLater.records(in: $0) }.map(\.state) == [.done])
  }

  /// What is done with the log once a commit was forgotten.
  enum Course: CaseIterable {
    case readAfter
    /// The reader's snapshot is older than the first commit that succeeds.
    case readBefore
    /// Nobody has the queue meanwhile who had it as the commit failed.
    case openedAgain
    /// By a connection that has not heard of the failure, as after the process's death.
    case openedByAnother
  }

  @Test(
    "power that goes once a commit was forgotten damages nothing, whoever reads",
    arguments: [Fault.powerLoss, .powerLossInWrite], Course.allCases)
  func powerLossAfterFailure(_ fault: Fault, _ course: Course) async throws {
    // In a short rehearsal at one of 12 operations.
    let step = Rehearsal.step(short: 12)
    var number = 1 + Int(Rehearsal.seed % UInt64(step))
    while try await lose(fault, at: number, course) { number += step }
    #expect(number > 10 + step)
  }

  private static func open(_ database: DatabasePool) async throws -> JobWorker {
    let queue = try await JobQueue.open(database)
    try await database.write { _ = try queue.enqueue(Tidy(), unique: .skip("one"), in: $0) }
    return JobWorker(queue) {
      $0.handle(Tidy.self) { _, context in
        try await context.step("fill", {}) { try Self.fill($0, 200..<300) }
      }
    }
  }

  /// - Returns: whether the fault hit anything.
  private func lose(_ fault: Fault, at number: Int, _ course: Course) async throws -> Bool {
    let disk = try Disk()
    let first = try await Self.filled(disk)
    var database = first
    var kept: JobWorker?
    do {
      let worker = try await Self.open(database)
      await Self.forget(200..<300, in: database, on: disk)
      if course == .readAfter || course == .readBefore { kept = worker }
    }
    var acknowledged = 100
    do {
      disk.arm(fault.armed(at: number, seed: UInt64(number)))
      if course == .openedByAnother { database = try DatabasePool(path: disk.path("app.sqlite")) }
      let early = course == .readAfter ? nil : try database.makeSnapshot()
      if kept == nil { kept = try await Self.open(database) }
      try await database.write { try Self.fill($0, 100..<200) }
      acknowledged = 200
      let late = try database.makeSnapshot()
      try await kept?.drain()
      acknowledged = 300
      try await database.write { try Self.fill($0, 300..<400) }
      acknowledged = 400
      withExtendedLifetime((early, late)) {}
    } catch _ where disk.isCrashed {}
    let wasHit = disk.wasHit
    try disk.cyclePower(keeping: fault.kept ?? .none, seed: UInt64(number))
    let later = try Self.reopened(disk, after: database, first)
    try await later.read { [acknowledged] db in
      let check = try String.fetchAll(db, sql: "PRAGMA integrity_check(3)")
      #expect(check == ["ok"], "at \(number)")
      let count = try Self.count(db)
      #expect(count >= acknowledged && count % 100 == 0, "at \(number)")
    }
    return wasHit
  }

  @Test(
    "what another process had not synced is written again where a commit failed",
    arguments: [false, true])
  func failedCommitBesideAnother(hasQueue: Bool) async throws {
    let disk = try Disk()
    let database = try await Self.filled(disk)
    // A replica's opening does no more.
    let queue = hasQueue ? try await JobQueue.open(database) : nil
    try Durability.powerLoss.apply(to: database)
    try await database.write { try $0.execute(sql: "CREATE TABLE synced (id INTEGER)") }
    let other = try DatabasePool(path: disk.path("app.sqlite"))
    let otherQueue = try await JobQueue.open(other)
    try await other.write { _ = try otherQueue.enqueue(Tidy(), in: $0) }
    let worker = JobWorker(otherQueue) {
      $0.handle(Tidy.self) { _, _ in
        await Self.forget(100..<200, in: database, on: disk)
        try await database.write { try Self.fill($0, 100..<200) }
        try disk.cyclePower(keeping: .none)
      }
    }
    // Both have lost their disk, and say so.
    await #expect(throws: DatabaseError.self) { try await worker.drain() }
    withExtendedLifetime(queue) {}
    let later = try Self.reopened(disk, after: other, database)
    #expect(try await later.read(Self.count) == 200)
  }

  @Test("of a log whose file is longer, only what it holds is written again")
  func longFile() async throws {
    let disk = try Disk()
    let database = try await Self.filled(disk)
    let queue = try await JobQueue.open(database)
    // Is moved into the database at once, and the log begins anew in a file of this length.
    try await database.write { try Self.fill($0, 10_000..<30_000) }
    try await database.write { _ = try queue.enqueue(Tidy(), in: $0) }
    let worker = JobWorker(queue) {
      $0.handle(Tidy.self) { _, _ in
        await Self.forget(100..<101, in: database, on: disk)
        disk.arm(Fault.writeError.armed(at: .max, seed: 0))
        try await database.write { try Self.fill($0, 100..<101) }
        #expect(disk.count < 100)
        disk.disarm()
      }
    }
    try await worker.drain()
    try disk.cyclePower(keeping: .none)
    let later = try Self.reopened(disk, after: database)
    #expect(try await later.read(Self.count) == 20_101)
  }

  /// Refuses every commit while it is active.
  private final class Refusal: TransactionObserver, Sendable {
    struct Refused: Error {}

    let isActive: Mutex<Bool>

    init(isActive: Bool) { self.isActive = Mutex(isActive) }

    func observes(eventsOfKind eventKind: DatabaseEventKind) -> Bool { false }
    func databaseDidChange(with event: DatabaseEvent) {}
    func databaseWillCommit() throws { if isActive.withLock({ $0 }) { throw Refused() } }
    func databaseDidCommit(_ db: Database) {}
    func databaseDidRollback(_ db: Database) {}
  }

  @Test("of a commit that an observer refuses nothing has to be written again")
  func refusedCommit() async throws {
    let disk = try Disk()
    let database = try await Self.filled(disk)
    let queue = try await JobQueue.open(database)
    try await database.write { _ = try queue.enqueue(Tidy(), in: $0) }
    let worker = JobWorker(queue) {
      $0.handle(Tidy.self) { _, _ in
        await #expect(throws: Refusal.Refused.self) {
          try await database.write { db in
            db.add(transactionObserver: Refusal(isActive: true), extent: .nextTransaction)
            try Self.fill(db, 100..<200)
          }
        }
        disk.arm(Fault.syncError.armed(at: .max, seed: 0))
        try await database.write { try Self.fill($0, 100..<200) }
        #expect(disk.count == 1)
        disk.disarm()
      }
    }
    try await worker.drain()
  }

  /// A commit that fails, and of which Linux takes for written what its sync could not write.
  private static func forget(_ ids: Range<Int>, in database: DatabasePool, on disk: Disk) async {
    disk.arm(Fault.syncForgets.armed(at: 1, seed: 0))
    await #expect(throws: DatabaseError.self) { try await database.write { try fill($0, ids) } }
    #expect(disk.wasHit)
    disk.disarm()
  }

  /// What there is once power is back.
  private static func reopened(_ disk: Disk, after others: DatabasePool...) throws -> DatabaseQueue
  {
    // They have lost their disk, and say so.
    for other in others { try? other.close() }
    return try DatabaseQueue(path: disk.path("app.sqlite"))
  }

  /// A database with a hundred rows.
  private static func filled(_ disk: Disk) async throws -> DatabasePool {
    let database = try DatabasePool(path: disk.path("app.sqlite"))
    try await database.write { db in
      try db.execute(sql: "CREATE TABLE page (id INTEGER PRIMARY KEY, name TEXT)")
      try db.execute(sql: "CREATE INDEX page_name ON page (name)")
      try fill(db, 0..<100)
    }
    return database
  }

  /// Rows that lie all over the index.
  private static func fill(_ db: Database, _ ids: Range<Int>) throws {
    for id in ids {
      try db.execute(
        sql: "INSERT INTO page VALUES (?, ?)",
        arguments: [id, "\(id * 7919 % 1000)" + String(repeating: " page", count: 40)])
    }
  }

  private static func count(_ db: Database) throws -> Int {
    try Int.fetchOne(db, sql: "SELECT count(*) FROM page") ?? 0
  }
}

extension Database {
  /// Holds what a connection does that checkpoints, until it is closed.
  fileprivate func holdCheckpointLock() throws {
    var file: UnsafeMutablePointer<sqlite3_file>?
    let code = sqlite3_file_control(sqliteConnection, "main", SQLITE_FCNTL_FILE_POINTER, &file)
    try #require(code == SQLITE_OK)
    let pointer = try #require(file)
    let (slot, flags) = (Int32(1), SQLITE_SHM_LOCK | SQLITE_SHM_EXCLUSIVE)
    #expect(pointer.pointee.pMethods.pointee.xShmLock(pointer, slot, 1, flags) == SQLITE_OK)
  }
}
