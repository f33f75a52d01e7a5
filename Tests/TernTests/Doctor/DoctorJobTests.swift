import Foundation
import GRDB
import Tern
import TernDatabase
import TernJobs
import Testing

/// What a file shows of its queue.
@Suite("Doctor: what a file shows of its queue")
struct DoctorJobTests {
  private struct Scan: Job {
    static let kind = "scan"
    static let service: String? = "recogniser"
    var shelf: String
  }

  /// A queue with two jobs of which one has a file.
  private func withQueue(_ body: (Clinic) async throws -> Void) async throws {
    let folder = FileManager.default.temporaryDirectory
      .appending(path: "tern-clinic-\(ProcessInfo.processInfo.globallyUniqueString)").path
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try await body(Clinic(folder))
  }

  private final class Clinic: Sendable {
    let path: String
    let database: DatabaseQueue
    let queue: JobQueue

    init(_ folder: String) async throws {
      path = folder + "/app.sqlite"
      database = try DatabaseQueue(path: path)
      queue = try await JobQueue.open(database)
      let photo = URL(filePath: folder + "/photo")
      try Data("photo".utf8).write(to: photo)
      let file = try await queue.attach(copyOf: photo, as: "photo")
      try await database.write { [queue] db in
        _ = try queue.enqueue(Scan(shelf: "1"), files: [file], in: db)
        _ = try queue.enqueue(Scan(shelf: "2"), in: db)
      }
    }

    func harm(_ sql: String) throws { try database.write { try $0.execute(sql: sql) } }
    func diagnosis() throws -> DatabaseDiagnosis { try DatabaseDiagnosis(path: path) }

    /// Where the first job's file is.
    func filePath() throws -> String {
      let path = try database.read {
        try String.fetchOne($0, sql: "SELECT path FROM grdb_tern_jobfile")
      }
      return self.path + "-files/" + (try #require(path))
    }
  }

  private static let damages: [(sql: String, found: [String], remarks: [String])] = [
    ("UPDATE grdb_tern_job SET state = 9 WHERE id = 2", ["job-state"], []),
    ("UPDATE grdb_tern_job SET failures = -1 WHERE id = 2", ["job-state"], []),
    ("UPDATE grdb_tern_job SET state = 'done' WHERE id = 2", ["store-table"], []),
    ("UPDATE grdb_tern_jobqueue SET unfinished = 7", ["job-count"], []),
    ("UPDATE grdb_tern_jobqueue SET ended = 7", ["job-count"], []),
    ("UPDATE grdb_tern_job SET state = 2 WHERE id = 2", ["job-state"], []),
    (
      """
      INSERT INTO grdb_tern_jobhistory
      VALUES (2, 'k', '', '', 2, 0, 0, 1, 0, 0, NULL, NULL, NULL, 0, NULL);
      UPDATE grdb_tern_jobqueue SET ended = ended + 1
      """, ["job-state"], []
    ),
    ("UPDATE grdb_tern_jobqueue SET format = 9", ["newer-format"], []),
    ("DROP TABLE grdb_tern_jobgate", ["store-table"], []),
    ("INSERT INTO grdb_tern_jobcheckpoint VALUES (99, 0, 'step', x'')", ["job-part"], []),
    ("INSERT INTO grdb_tern_jobcheckpoint VALUES (2, 9, 'step', x'')", ["job-part"], []),
    ("INSERT INTO grdb_tern_jobgate VALUES ('s', 1000, 500, NULL)", ["gate-forever"], []),
    (
      "INSERT INTO grdb_tern_jobgate VALUES ('s', 0, 9000000000000000000, NULL)",
      ["gate-forever"], []
    ),
    ("INSERT INTO grdb_tern_jobgate VALUES ('s', 1000, 5000, NULL)", [], ["gate-closed"]),
    ("INSERT INTO grdb_tern_jobgate VALUES ('s', 1000, 5000, 2)", [], ["gate-closed"]),
    ("UPDATE grdb_tern_job SET state = 1 WHERE id = 2", [], ["job-abandoned"]),
    ("UPDATE grdb_tern_job SET state = 4 WHERE id = 2", [], ["job-stuck"]),
    ("UPDATE grdb_tern_job SET state = 3, reason = 'no' WHERE id = 2", [], ["job-stuck"]),
  ]

  @Test(arguments: damages.indices)
  func `a queue's damage is found by its name`(_ index: Int) async throws {
    try await withQueue { clinic in
      let healthy = try clinic.diagnosis()
      #expect(healthy.findings == [] && healthy.remarks == [])
      let (sql, found, remarks) = Self.damages[index]
      try clinic.harm(sql)
      let diagnosis = try clinic.diagnosis()
      #expect(diagnosis.findings.map(\.check) == found, "\(diagnosis.findings)")
      #expect(diagnosis.remarks.map(\.check) == remarks, "\(diagnosis.remarks)")
    }
  }

  @Test func `a gate that waits for no job is found while a worker runs`() async throws {
    try await withQueue { clinic in
      try clinic.harm("INSERT INTO grdb_tern_jobgate VALUES ('s', 1000, 5000, 2)")
      let lock = try FileLock.attempt(clinic.path + "-jobs.lock")
      try #require(lock != nil)
      #expect(try clinic.diagnosis().findings.map(\.check) == ["gate-forever"])
      withExtendedLifetime(lock) {}
    }
  }

  @Test func `a job's file that is gone is found, and one of no job is told`() async throws {
    try await withQueue { clinic in
      let file = try clinic.filePath()
      try FileManager.default.removeItem(atPath: file)
      let gone = try clinic.diagnosis()
      #expect(gone.findings.map(\.check) == ["job-file-missing"])
      #expect(gone.findings[0].place.name?.hasPrefix("job 1, ") == true)
      try Data("again".utf8).write(to: URL(filePath: file))
      #expect(try clinic.diagnosis().findings == [])
      // Of a process that is dead.
      let session = clinic.path + "-files/00000000000000aa"
      try FileManager.default.createDirectory(atPath: session, withIntermediateDirectories: true)
      try Data().write(to: URL(filePath: session + "/lock"))
      try Data("left".utf8).write(to: URL(filePath: session + "/00000000000000bb"))
      let left = try clinic.diagnosis()
      #expect(left.findings == [])
      #expect(left.remarks.map(\.check) == ["job-file-left"])
      // The folder can be elsewhere.
      let moved = clinic.path + "-moved"
      try FileManager.default.moveItem(atPath: clinic.path + "-files", toPath: moved)
      #expect(try clinic.diagnosis().remarks.map(\.check) == ["unchecked"])
      let there = try DatabaseDiagnosis(path: clinic.path, files: URL(filePath: moved))
      #expect(there.remarks.map(\.check) == ["job-file-left"])
    }
  }

  @Test func `a done job keeps nothing`() async throws {
    try await withQueue { clinic in
      let worker = JobWorker(clinic.queue, path: UnknownPathSource()) {
        $0.handle(Scan.self) { _, _ in }
      }
      try await worker.drain()
      let done = try clinic.diagnosis()
      #expect(done.findings == [] && done.remarks == [])
      try clinic.harm("INSERT INTO grdb_tern_jobcheckpoint VALUES (1, 0, 'step', x'')")
      #expect(try clinic.diagnosis().findings.map(\.check) == ["job-part"])
    }
  }
}
