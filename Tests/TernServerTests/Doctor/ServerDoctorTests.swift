#if Server
import Foundation
import GRDB
import Tern
import TernServer
import Testing

/// What waits is told and is no finding, and the look changes nothing.
@Suite("Doctor: remarks, and a look that changes nothing")
struct ServerDoctorTests {
  private func content(_ folder: String) throws -> [String: Data] {
    let names = try FileManager.default.contentsOfDirectory(atPath: folder)
    return Dictionary(
      uniqueKeysWithValues: try names.filter { !$0.hasSuffix("-shm") }.map {
        ($0, try Data(contentsOf: URL(filePath: "\(folder)/\($0)")))
      })
  }

  @Test func `what waits is a remark`() throws {
    let patient = try ServerPatient()
    #expect(try patient.findings() == [])
    #expect(try patient.remarks() == ["group-open", "snapshot-upload"])
    _ = try patient.service.push([patient.fay.closing()], to: .work)
    #expect(try patient.remarks() == ["snapshot-upload"])

    // As an upload that is let go is until its bytes are removed.
    try patient.harm("UPDATE snapshot SET name = NULL WHERE NOT is_complete")
    #expect(try patient.remarks() == ["snapshot-dropped"])
    try maintain(patient.service)
    #expect(try patient.remarks() == [])
    #expect(try patient.findings() == [])
  }

  @Test func `what is left of a removed space is a remark until it is removed`() throws {
    let patient = try ServerPatient()
    #expect(try patient.store.removeSpace(.home))
    #expect(try patient.remarks().contains("space-removed"))
    #expect(try patient.findings() == [])
    while try patient.service.removeRemains() {}
    #expect(try !patient.remarks().contains("space-removed"))
    #expect(try patient.findings() == [])
  }

  @Test(arguments: 0..<5)
  func `a space on its way to another store, or from one, is a remark`(_ phase: Int) throws {
    let patient = try ServerPatient()
    try patient.harm("UPDATE space SET phase = \(phase) WHERE name = 'home'")
    #expect(try patient.remarks().contains("space-moving") == (phase != 0))
    #expect(try patient.findings() == [])
  }

  @Test func `a file that others may open is a remark`() throws {
    let patient = try ServerPatient()
    #expect(try !patient.remarks().contains("file-open"))
    try FileManager.default.setAttributes(
      [.posixPermissions: 0o640], ofItemAtPath: patient.path)
    #expect(try patient.remarks().contains("file-open"))
    #expect(try patient.findings() == [])
  }

  @Test func `a member that has taken most of its ids is a remark`() throws {
    let patient = try ServerPatient()
    let anna = try MemberName("anna")
    try patient.service.setQuota(SpaceQuota(authors: 10), of: .home)
    for number in 100..<UInt64(107) {
      try patient.service.claim(Author(number).replica, by: anna, in: .home)
    }
    #expect(try !patient.remarks().contains("member-ids"))
    try patient.service.claim(Author(107).replica, by: anna, in: .home)
    let remark = try patient.diagnosis().remarks.first { $0.check == "member-ids" }
    #expect(remark?.what == "8 of 10 replica ids are taken")
    #expect(remark?.place.name == "member anna" && remark?.place.space == "home")
    // Of another member, who has as few as before, nothing is said; nor of ids that are banned.
    try patient.service.ban(Author(100).replica, in: .home)
    #expect(try !patient.remarks().contains("member-ids"))
    #expect(try patient.findings() == [])
  }

  @Test func `a lease that is behind what is trimmed is a remark until its replica comes`() throws {
    let patient = try ServerPatient()
    try patient.harm("UPDATE lease SET position = 1")
    #expect(try patient.remarks().contains("lease-behind"))
    #expect(try patient.findings() == [])
    let cursor = try #require(patient.service.greet(.home).snapshot?.cursor)
    _ = try patient.service.pull(from: .home, after: cursor, excluding: ServerPatient.eve)
    try maintain(patient.service)
    #expect(try !patient.remarks().contains("lease-behind"))
  }

  @Test func `reports that differ are a remark until a snapshot is of that position`() throws {
    let patient = try ServerPatient()
    let end = try patient.service.end()
    try patient.service.report(patient.report(at: end, rows: 2), in: .home)
    #expect(try patient.remarks().contains("state-disputed"))
    #expect(try patient.findings() == [])
    let upload = try patient.store.update(.home) { try $0.snapshots().last?.id ?? "" }
    try patient.service.putSnapshotPart(patient.begunParts[0], index: 0, of: upload, in: .home)
    try patient.service.completeSnapshot(upload, in: .home)
    #expect(try !patient.remarks().contains("state-disputed"))
    #expect(try patient.findings() == [])
  }

  @Test func `a file in use is read beside its server, and stays as it is`() throws {
    let patient = try ServerPatient()
    let before = try content(patient.folder.url.path)
    #expect(before.keys.contains("server.tern-wal"))
    #expect(try patient.findings() == [])
    #expect(try content(patient.folder.url.path) == before)
    var gil = Author(7)
    _ = try patient.service.push([gil.write()], to: .home)
    #expect(try patient.findings() == [])
  }

  /// As a process leaves it that is killed, and as a copy is taken from one that runs.
  @Test func `a log without its index is read, and nothing is made beside it`() throws {
    let patient = try ServerPatient()
    let copies = patient.folder.path("copies")
    try FileManager.default.createDirectory(atPath: copies, withIntermediateDirectories: true)
    for suffix in ["", "-wal"] {
      try FileManager.default.copyItem(
        atPath: patient.path + suffix, toPath: copies + "/copy.tern" + suffix)
    }
    let before = try content(copies)
    let diagnosis = try DatabaseDiagnosis(path: copies + "/copy.tern", other: ServerDoctor.look)
    #expect(diagnosis.findings == [])
    #expect(diagnosis.remarks.count == 2)
    #expect(try content(copies) == before)
    #expect(try FileManager.default.contentsOfDirectory(atPath: copies).count == 2)
  }

  @Test func `many of one kind are counted, and the first ones named`() throws {
    let patient = try ServerPatient()
    try patient.harm("UPDATE operation SET chain = randomblob(32)")
    let diagnosis = try DatabaseDiagnosis(
      path: patient.path, limit: 3, other: ServerDoctor.look)
    #expect(diagnosis.findings.filter { $0.check == "operation-chain" }.count == 3)
    #expect(diagnosis.counts["operation-chain"] == 13)
    let json = try JSONEncoder().encode(diagnosis)
    #expect(try JSONDecoder().decode(DatabaseDiagnosis.self, from: json) == diagnosis)
    #expect(diagnosis.findings.first?.place.space == "home")
  }

  @Test func `a database of another kind is left to others`() throws {
    let patient = try ServerPatient()
    let path = patient.folder.path("plain.sqlite")
    try DatabaseQueue(path: path).write { try $0.execute(sql: "CREATE TABLE t (x)") }
    let error = #expect(throws: InspectionError.self) {
      try DatabaseDiagnosis(path: path, other: ServerDoctor.look)
    }
    #expect(error?.code == .noReplica)
    // Without the server's doctor its file is none.
    #expect(throws: InspectionError.self) { try DatabaseDiagnosis(path: patient.path) }
  }

  @Test func `the command says it by its exit status, also while the file is served`() throws {
    let patient = try ServerPatient()
    try patient.store.close()
    let server = try TernProcess(["serve", "--data", patient.path, "--port", "0"])
    #expect(server.line().hasPrefix("tern: listening on "))
    let healthy = try TernProcess.run("doctor", patient.path)
    #expect(healthy.output.hasSuffix("nothing is broken, 2 remarks\n"))
    #expect(healthy.code == 0)
    server.terminate()
    #expect(server.wait() == 0)

    try patient.harm("DELETE FROM operation WHERE position = 7")
    let broken = try TernProcess.run("doctor", patient.path)
    #expect(broken.output.contains("FINDING INV-03 position-gap: space home, position 7\n"))
    #expect(broken.code == 1)
    let json = try TernProcess.run("doctor", patient.path, "--json")
    let diagnosis = try JSONDecoder().decode(DatabaseDiagnosis.self, from: Data(json.output.utf8))
    #expect(diagnosis.findings.map(\.check) == ["position-gap"])
    #expect(json.code == 1)
    #expect(try TernProcess.run("doctor", patient.folder.path("absent")).code == 2)
  }
}

extension Author {
  /// The end of the group that its last operation began.
  fileprivate func closing() -> SyncOperation {
    var author = self
    return author.fragment()
  }
}
#endif
