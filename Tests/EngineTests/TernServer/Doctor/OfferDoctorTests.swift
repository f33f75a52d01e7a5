#if Server
import Foundation
import GRDB
import Tern
import TernServer
import TestDevice
import Testing

/// Snapshots that real devices gave, held once more against the log in the server's file.
@Suite("Doctor: snapshots that are not what the log makes", .timeLimit(.minutes(2)))
struct OfferDoctorTests {
  private static let home = SpaceName(stored: Server.space)

  private func look(_ life: LongLife) throws -> [DatabaseFinding] {
    let diagnosis = try DatabaseDiagnosis(path: life.path("server"), other: ServerDoctor.look)
    #expect(diagnosis.findings.map(\.description) == [])
    return diagnosis.remarks.filter { $0.check == "snapshot-replay" }
  }

  @Test(arguments: [false, true])
  func `one that lacks a row is told, also after another one`(_ hasBefore: Bool) async throws {
    var limits = ServerLimits()
    limits.operationsPerSnapshot = hasBefore ? 3 : 1_000
    try await LongLife.run { life in
      try await life.serve("server", limits: limits) { server in
        let device = try await life.device("device", at: server)
        try await device.write("1", "2", "3", "4")
        for _ in 1...2 { try await device.syncOnce() }
        let first = try server.service.greet(Self.home).snapshot
        #expect((first != nil) == hasBefore)
        try await device.write("5", "6", "7", "8")
        try await device.syncOnce()
        // A fault of the device's, in its state and in its table.
        try await device.executeUnnoted(
          "DELETE FROM item WHERE id = '6'; DELETE FROM grdb_tern_main_row_1 WHERE k0 = '6'")
        let damaged = try DatabaseDiagnosis(path: life.path("device"))
        #expect(damaged.findings.map(\.check) == ["state-replay"])
        try await device.give(server)
        let refused = try server.service.snapshots(of: Self.home).filter { $0.refusal != nil }
        #expect(refused.count == 1)
        #expect(try look(life).isEmpty)
        for snapshot in refused {
          _ = try server.service.acceptSnapshot(snapshot.id, in: Self.home)
        }
        let remarks = try look(life)
        #expect(remarks.map(\.place.name) == refused.map { "snapshot \($0.id)" })
        #expect(remarks.allSatisfy { $0.what.contains("writes that it lacks: 1; ") })
        // Once the operator drops it, nothing is left to tell.
        for snapshot in refused { try server.service.dropSnapshot(snapshot.id, in: Self.home) }
        #expect(try look(life).isEmpty)
      }
    }
  }
}

extension Device {
  /// Gives the server a snapshot of the state that is here, wanted or not.
  fileprivate func give(_ server: Server) async throws {
    try store.seal()
    let remote = try Server.remote(port: server.port)
    var parts: [[UInt8]] = []
    let summary = try store.cutSnapshot { parts.append($0) }
    let upload = try await remote.beginSnapshot(
      SnapshotOffer(
        key: "given", parts: parts.count, cursor: store.place(at: remote.id)?.cursor,
        heads: summary.heads, schema: summary.schema))
    for index in upload.missing {
      try await remote.putSnapshotPart(parts[index], index: index, of: upload.id)
    }
    let error = await #expect(throws: RemoteError.self) {
      try await remote.completeSnapshot(upload.id)
    }
    #expect(error?.code == .snapshotRefused)
  }
}
#endif
