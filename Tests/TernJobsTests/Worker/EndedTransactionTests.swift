import GRDB
import Synchronization
import Tern
import TernJobs
import Testing

/// A commit whose code goes on behind a statement that has rolled all of it back.
@Suite("Worker: commits that go on behind a rollback")
struct EndedTransactionTests {
  private static let once = """
    CREATE TABLE once (title UNIQUE ON CONFLICT ROLLBACK);
    INSERT INTO once VALUES ('a');
    """

  @Test(arguments: [false, true])
  func `it is that job's failure, and others go on`(_ goesOn: Bool) throws {
    try Rig.run { rig in
      try rig.write { try $0.execute(sql: Self.once) }
      let queue = try rig.open()
      let job = try rig.enqueue(queue, Scan(shelf: "1"))
      _ = try rig.enqueue(queue, Tidy(name: "other"))
      let worker = JobWorker(queue) {
        $0.handle(Tidy.self) { _, _ in rig.note("other") }
        $0.handle(Scan.self) { _, context in
          do {
            try await context.step("scan") {
            } commit: { db in
              try db.execute(sql: "INSERT INTO book VALUES ('lost')")
              do {
                try db.execute(sql: "INSERT INTO once VALUES ('a')")
              } catch {
                // It is there, which is all that was wanted.
              }
              if goesOn { try db.execute(sql: "INSERT INTO book VALUES ('more')") }
            }
          } catch let error as JobQueueError {
            #expect(error.code == .transactionEnded)
            throw error
          }
        }
      }
      try rig.drain(worker, waiting: .seconds(60))
      let record = try rig.record(queue, job)
      #expect(record.state == .failed)
      #expect(record.failures == 4)
      #expect(rig.notes().map { $0.hasSuffix("other") } == [true])
      #expect(try rig.titles() == [])
      // Once nothing is in the way.
      try rig.write { db in
        try db.execute(sql: "DELETE FROM once")
        try queue.retry(job, in: db)
      }
      try rig.drain(worker)
      #expect(try rig.record(queue, job).state == .done)
      #expect(try rig.titles() == (goesOn ? ["lost", "more"] : ["lost"]))
    }
  }

  /// Runs a job whose commit uses another database as well, which says this to it six times.
  ///
  /// - Returns: what became of it, and what is stored.
  private func fail(_ code: ResultCode) throws -> (record: JobRecord, titles: [String]) {
    var result: (JobRecord, [String])?
    try Rig.run { rig in
      let queue = try rig.open()
      let job = try rig.enqueue(queue, Scan(shelf: "1"))
      _ = try rig.enqueue(queue, Tidy(name: "other"))
      let failures = Mutex(0)
      let worker = JobWorker(queue) {
        $0.handle(Tidy.self) { _, _ in rig.note("other") }
        $0.handle(Scan.self) { _, context in
          try await context.step("scan") {
          } commit: { db in
            try db.execute(sql: "INSERT INTO book VALUES ('a')")
            let count = failures.withLock { count in
              count += 1
              return count
            }
            if count <= 6 { throw DatabaseError(resultCode: code) }
          }
        }
      }
      try rig.drain(worker, waiting: .seconds(60))
      #expect(rig.notes().map { $0.hasSuffix("other") } == [true])
      result = (try rig.record(queue, job), try rig.titles())
    }
    return try #require(result)
  }

  @Test(arguments: [ResultCode.SQLITE_IOERR, .SQLITE_FULL])
  func `the disk of another database is that job's failure, and others go on`(_ code: ResultCode)
    throws
  {
    let (record, titles) = try fail(code)
    #expect(record.state == .failed)
    #expect(titles == [])
  }

  @Test func `another database that is suspended is waited for`() throws {
    let (record, titles) = try fail(.SQLITE_ABORT)
    #expect(record.state == .done)
    #expect(record.failures == 0)
    #expect(titles == ["a"])
  }
}
