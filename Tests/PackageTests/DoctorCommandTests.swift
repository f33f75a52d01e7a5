#if Server
import Foundation
import GRDB
import Tern
import TestProcesses
import Testing

/// `tern doctor` as its own process.
struct DoctorCommandTests {
  @Test func `its exit status says whether anything is broken`() async throws {
    let folder = FileManager.default.temporaryDirectory
      .appending(path: "tern-doctor-\(ProcessInfo.processInfo.globallyUniqueString)").path
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let path = folder + "/library.sqlite"
    let database = try DatabaseQueue(path: path)
    try await database.write { db in
      try db.execute(sql: "CREATE TABLE book (isbn TEXT NOT NULL PRIMARY KEY)")
    }
    let replica = try await Replica.open(
      database, schema: SyncSchema(version: 1, tables: [SyncTable("book")]))
    try await replica.write { try $0.execute(sql: "INSERT INTO book VALUES ('1')") }

    let healthy = try await doctor(path)
    #expect(healthy.output == "nothing is broken, 0 remarks\n")
    #expect(healthy.code == 0)

    try await database.write { try $0.execute(sql: "DELETE FROM grdb_tern_main_log") }
    let broken = try await doctor(path)
    #expect(broken.output.contains("FINDING INV-05 log-gap: replica main"))
    #expect(broken.output.hasSuffix("1 findings, 0 remarks\n"))
    #expect(broken.code == 1)
    let json = try await doctor(path, "--json")
    let diagnosis = try JSONDecoder().decode(DatabaseDiagnosis.self, from: Data(json.output.utf8))
    #expect(diagnosis.findings.map(\.check) == ["log-gap"])
    #expect(json.code == 1)

    let absent = try await doctor(folder + "/absent")
    #expect(absent.output == "Error: there is no file \(folder)/absent\n")
    #expect(absent.code == 2)
  }

  private func doctor(_ arguments: String...) async throws -> (output: String, code: CInt) {
    try await run([try BuiltExecutable.path("tern"), "doctor"] + arguments)
  }
}
#endif
