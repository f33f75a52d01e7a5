import Foundation
import GRDB
import Tern
import TernCore
import TernJobs
import TestProcesses
import Testing

/// A queue in databases of every kind, beside whatever else an app has there.
@Suite("Queue: a queue beside what else an app's database has")
struct JobGuestTests {
  private func worker(_ rig: Rig, _ queue: JobQueue) -> JobWorker {
    JobWorker(queue) {
      $0.handle(Tidy.self) { job, context in
        let content = try String(contentsOf: context.file("note"), encoding: .utf8)
        _ = try await context.step("write") {
          1
        } commit: { db, _ in
          try db.execute(sql: "INSERT INTO book VALUES (?)", arguments: [job.name + content])
        }
      }
    }
  }

  @Test(arguments: DatabaseKind.allCases)
  func `a job goes its way in a database of any kind, over an opening`(_ kind: DatabaseKind) throws
  {
    try Rig.run(kind) { rig in
      var queue = try rig.open()
      let file = try rig.perform { [queue] in try await queue.attach(Data("!".utf8), as: "note") }
      _ = try rig.enqueue(queue, Tidy(name: "Dune"), files: [file])
      queue = try rig.open()
      try rig.drain(worker(rig, queue))
      #expect(try rig.titles() == ["Dune!"])
    }
  }

  @Test(.timeLimit(.minutes(1)), arguments: DatabaseKind.allCases)
  func `observers are told of every state`(_ kind: DatabaseKind) async throws {
    let folder = FileManager.default.temporaryDirectory
      .appending(path: "tern-jobs-\(ProcessInfo.processInfo.globallyUniqueString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let database = try kind.open(folder.appending(path: "app.sqlite").path)
    let queue = try await JobQueue.open(database, files: folder.appending(path: "files"))
    let (go, goOn) = AsyncStream.makeStream(of: Void.self)
    let worker = JobWorker(queue) {
      $0.handle(Tidy.self) { _, context in
        try await context.report(progress: 0.5, message: "half")
        for await _ in go { break }
        throw Failure(.permanent)
      }
      $0.handle(Scan.self) { _, _ in throw Failure(.limited(delay: .seconds(1000))) }
    }
    var updates = queue.updates.makeAsyncIterator()
    func next(_ matches: (JobOverview) -> Bool) async throws {
      while let now = try await updates.next() {
        if matches(now) { return }
      }
      Issue.record("the updates ended")
    }
    try await next { $0.records.isEmpty }
    try await worker.run {
      _ = try await database.write { try queue.enqueue(Tidy(name: ""), in: $0) }
      try await next { $0.records.first?.progress == 0.5 && $0.records[0].state == .running }
      goOn.yield()
      try await next { $0.records.first?.state == .failed }
      _ = try await database.write { try queue.enqueue(Scan(shelf: ""), in: $0) }
      try await next { $0.gates.first?.service == "recogniser" }
    }
  }

  @Test func `the view says in words what there is`() throws {
    try Rig.run { rig in
      let queue = try rig.open()
      _ = try rig.enqueue(queue, Tidy(name: ""))
      _ = try rig.enqueue(queue, Scan(shelf: ""))
      try rig.drain(
        JobWorker(queue) { $0.handle(Scan.self) { _, _ in throw Failure(.failed) } })
      let columns = ["kind", "service", "state", "failures", "reason", "since", "ready_at"]
        .map { "coalesce(\($0), '-')" }.joined(separator: " || ' | ' || ")
      let rows = try rig.database.read { db in
        try String.fetchAll(db, sql: "SELECT \(columns) FROM grdb_tern_jobs ORDER BY id")
      }
      #expect(
        rows == [
          "tidy | - | parked | 0 | this app has no handler for jobs “tidy” | "
            + "1970-01-12T13:46:40.000Z | -",
          "scan | recogniser | waiting | 1 | the service would not | 1970-01-12T13:46:40.000Z | "
            + "1970-01-12T13:46:41.000Z",
        ])
    }
  }

  private func migrator(_ steps: String...) -> DatabaseMigrator {
    var migrator = DatabaseMigrator()
    migrator.eraseDatabaseOnSchemaChange = true
    for (number, step) in steps.enumerated() {
      migrator.registerMigration("\(number)") { try $0.execute(sql: step) }
    }
    return migrator
  }

  @Test func `a queue survives migrations, and a schema that is erased ends it by name`() throws {
    try withTemporaryFolder { folder in
      let database = try DatabaseQueue(path: folder + "/app.sqlite")
      let first = "CREATE TABLE first (a)"
      try migrator(first).migrate(database)
      let rig = try Rig(seed: 1, existing: database, folder: folder)
      let queue = try rig.open()
      let file = try rig.perform { try await queue.attach(Data("!".utf8), as: "note") }
      let id = try rig.enqueue(queue, Tidy(name: "Dune"), files: [file])
      try migrator(first, "CREATE TABLE second (a)").migrate(database)
      #expect(try rig.record(queue, id).state == .waiting)

      try migrator("CREATE TABLE first (b)", "CREATE TABLE book (title)").migrate(database)
      let refused = #expect(throws: JobQueueError.self) {
        _ = try rig.enqueue(queue, Tidy(name: ""))
      }
      #expect(refused?.code == .notInstalled)
      #expect((try rig.die(worker(rig, queue)) as? JobQueueError)?.code == .notInstalled)
      let again = try rig.open()
      #expect(try database.read(again.records).isEmpty)
      let other = try rig.perform { try await again.attach(Data("!".utf8), as: "note") }
      _ = try rig.enqueue(again, Tidy(name: "Emma"), files: [other])
      try rig.drain(worker(rig, again))
      #expect(try rig.titles() == ["Emma!"])
    }
  }

  @Test func `the app's triggers see what steps write and what becomes of jobs`() throws {
    try Rig.run { rig in
      let queue = try rig.open()
      try rig.write { db in
        try db.execute(
          sql: """
            CREATE TABLE seen (what);
            CREATE TRIGGER book_seen AFTER INSERT ON book
              BEGIN INSERT INTO seen VALUES (NEW.title); END;
            CREATE TRIGGER job_seen AFTER UPDATE OF state ON grdb_tern_job
              BEGIN INSERT INTO seen VALUES (NEW.state); END;
            CREATE TRIGGER job_ended AFTER INSERT ON grdb_tern_jobhistory
              BEGIN INSERT INTO seen VALUES (NEW.state); END
            """)
      }
      let file = try rig.perform { try await queue.attach(Data("!".utf8), as: "note") }
      _ = try rig.enqueue(queue, Tidy(name: "Dune"), files: [file])
      try rig.drain(worker(rig, queue))
      let seen = try rig.database.read { try String.fetchAll($0, sql: "SELECT what FROM seen") }
      #expect(seen == ["1", "Dune!", "2"])
    }
  }

  @Test func `what a step writes to a synced table is captured, also beside a replica named job`()
    throws
  {
    try Rig.run { rig in
      try rig.write { try $0.execute(sql: "CREATE TABLE item (id TEXT NOT NULL PRIMARY KEY)") }
      let queue = try rig.open()
      let replica = try Replica.openBlocking(
        rig.database, schema: SyncSchema(version: 1, tables: [SyncTable("item")]), name: "job",
        makeID: { ReplicaID(high: 0, low: 1) })
      _ = try rig.enqueue(queue, Tidy(name: "1"))
      try rig.drain(
        JobWorker(queue) {
          $0.handle(Tidy.self) { job, context in
            try await context.step("write") {
            } commit: { db in
              try db.execute(sql: "INSERT INTO item VALUES (?)", arguments: [job.name])
            }
          }
        })
      #expect(try replica.store.seal() == 1..<2)
    }
  }

  @Test(
    arguments: [(1, .olderFormat), (2, .olderFormat), (5, .newerFormat)]
      as [(Int, JobQueueError.Code)])
  func `a queue of another format is refused by name`(_ format: Int, _ code: JobQueueError.Code)
    throws
  {
    try Rig.run { rig in
      _ = try rig.open()
      try rig.write { try $0.execute(sql: "UPDATE grdb_tern_jobqueue SET format = \(format)") }
      let error = #expect(throws: JobQueueError.self) { _ = try rig.open() }
      #expect(error?.code == code)
    }
  }
}
