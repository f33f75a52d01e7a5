import Foundation
import GRDB
import Tern
import TernDatabase
import TestProcesses
import Testing

/// The look changes nothing, whatever state the file is in.
@Suite("Doctor: a look that changes nothing")
struct DoctorFileTests {
  private func content(_ folder: String) throws -> [String: Data] {
    let names = try FileManager.default.contentsOfDirectory(atPath: folder)
    return Dictionary(
      uniqueKeysWithValues: try names.filter { !$0.hasSuffix("-shm") }.map {
        ($0, try Data(contentsOf: URL(filePath: "\(folder)/\($0)")))
      })
  }

  @Test(arguments: ["DELETE", "WAL"])
  func `a file in use is read beside its writer`(_ journal: String) throws {
    let patient = try Patient()
    try patient.device.database.writeWithoutTransaction {
      try $0.execute(sql: "PRAGMA journal_mode = \(journal)")
    }
    try patient.fill()
    let before = try content(patient.folder)
    #expect(try patient.findings() == [])
    #expect(try content(patient.folder) == before)
    try patient.device.execute("UPDATE shelf SET name = 'still written'")
    #expect(try patient.remarks().contains("notes"))
  }

  @Test func `through a symbolic link the file is seen with its log`() throws {
    let patient = try Patient()
    try patient.device.database.writeWithoutTransaction {
      try $0.execute(sql: "PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0")
    }
    try patient.fill()
    try patient.device.execute("UPDATE shelf SET name = 'in the log'")
    let links = patient.folder + "/links"
    try FileManager.default.createDirectory(atPath: links, withIntermediateDirectories: true)
    try FileManager.default.createSymbolicLink(
      atPath: links + "/link.sqlite", withDestinationPath: patient.path)
    let diagnosis = try DatabaseDiagnosis(path: links + "/link.sqlite")
    #expect(diagnosis.findings == [])
    #expect(diagnosis.remarks.contains { $0.check == "notes" })
    let inspection = try DatabaseFileInspection(path: links + "/link.sqlite")
    #expect(inspection.replicas[0].unsealedChanges > 0)
    #expect(inspection.sizes.writeAheadLog > 0)
    #expect(try FileManager.default.contentsOfDirectory(atPath: links) == ["link.sqlite"])
  }

  /// As a process leaves it that is killed, and as a copy is taken from one that runs.
  @Test func `a log without its index is read, and nothing is made beside it`() throws {
    let patient = try Patient()
    try patient.device.database.writeWithoutTransaction {
      try $0.execute(sql: "PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0")
    }
    try patient.fill()
    let copies = patient.folder + "/copies"
    try FileManager.default.createDirectory(atPath: copies, withIntermediateDirectories: true)
    for suffix in ["", "-wal"] {
      try FileManager.default.copyItem(
        atPath: patient.path + suffix, toPath: copies + "/copy.sqlite" + suffix)
    }
    let before = try content(copies)
    // A folder that nobody may write to is read too.
    try FileManager.default.setAttributes([.posixPermissions: 0o500], ofItemAtPath: copies)
    let diagnosis = try DatabaseDiagnosis(path: copies + "/copy.sqlite")
    try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: copies)
    #expect(diagnosis.findings == [])
    #expect(try DatabaseFileInspection(path: copies + "/copy.sqlite").replicas.count == 1)
    #expect(try content(copies) == before)
    #expect(try FileManager.default.contentsOfDirectory(atPath: copies).count == 2)
  }

  @Test func `a transaction that was cut off is left as it is`() throws {
    let patient = try Patient()
    try patient.fill()
    let copies = patient.folder + "/copies"
    try FileManager.default.createDirectory(atPath: copies, withIntermediateDirectories: true)
    try patient.device.database.writeWithoutTransaction { db in
      // So that changes reach the file before the commit.
      try db.execute(sql: "PRAGMA cache_size = 1; PRAGMA cache_spill = 1")
      try db.inTransaction {
        try db.execute(sql: "UPDATE shelf SET name = hex(zeroblob(100000))")
        for suffix in ["", "-journal"] {
          try FileManager.default.copyItem(
            atPath: patient.path + suffix, toPath: copies + "/copy.sqlite" + suffix)
        }
        return .rollback
      }
    }
    let before = try content(copies)
    #expect(try DatabaseDiagnosis(path: copies + "/copy.sqlite").findings == [])
    #expect(try content(copies) == before)
  }

  @Test func `a file that is written to during the look is not called broken`() throws {
    try withTemporaryFolder { folder in
      let path = folder + "/app.sqlite"
      let first = try DatabasePool(path: path)
      try first.write { try $0.execute(sql: "CREATE TABLE t (x); INSERT INTO t VALUES (1)") }
      try first.close()
      #expect(!FileManager.default.fileExists(atPath: path + "-wal"))
      let file = ReadOnlyFile(path: path)
      let error = #expect(throws: InspectionError.self) {
        try file.read { db in
          _ = try Int.fetchOne(db, sql: "SELECT count(*) FROM t")
          // Its closing brings what it wrote into the file.
          let app = try DatabasePool(path: path)
          try app.write { try $0.execute(sql: "INSERT INTO t VALUES (zeroblob(100000))") }
          try app.close()
          // As SQLite finds pages of two moments.
          throw DatabaseError(resultCode: .SQLITE_CORRUPT)
        }
      }
      #expect(error?.code == .writtenMeanwhile && error?.advice == .unreachable)
      // Who opens it and does not write is no matter.
      try file.read { _ in
        let app = try DatabasePool(path: path)
        #expect(try app.read { try $0.tableExists("t") })
        try app.close()
      }
      #expect(try file.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM t") } == 2)
    }
  }

  @Test func `where none is to be named one of each check is`() throws {
    let patient = try Patient()
    try patient.fill()
    try patient.harm("DELETE FROM book; INSERT INTO tag VALUES ('new', 'unseen')")
    let findings = try DatabaseDiagnosis(path: patient.path).findings
    let none = try DatabaseDiagnosis(path: patient.path, limit: 0)
    #expect(!none.isHealthy)
    #expect(Set(none.findings.map(\.check)) == Set(findings.map(\.check)))
  }

  @Test func `what is no database of Tern's is refused by name`() throws {
    let patient = try Patient()
    func failure(_ path: String) -> InspectionError.Code? {
      do {
        _ = try DatabaseDiagnosis(path: path)
        return nil
      } catch {
        return (error as? InspectionError)?.code
      }
    }
    #expect(failure(patient.folder + "/absent") == .absent)
    #expect(failure(patient.folder) == .unreadable)
    try Data("text".utf8).write(to: URL(filePath: patient.folder + "/text"))
    #expect(failure(patient.folder + "/text") == .notADatabase)
    let plain = try DatabaseQueue(path: patient.folder + "/plain")
    try plain.write { try $0.execute(sql: "CREATE TABLE t (x)") }
    #expect(failure(patient.folder + "/plain") == .noReplica)
  }

  @Test func `a diagnosis is the same as JSON`() throws {
    let patient = try Patient()
    try patient.fill()
    try patient.harm("DELETE FROM book; INSERT INTO tag VALUES ('new', 'unseen')")
    let diagnosis = try patient.diagnosis()
    #expect(diagnosis.findings.count == 2)
    let json = try JSONEncoder().encode(diagnosis)
    #expect(try JSONDecoder().decode(DatabaseDiagnosis.self, from: json) == diagnosis)
  }
}
