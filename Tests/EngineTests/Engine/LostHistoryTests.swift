#if Server
import Foundation
import GRDB
import Tern
import TernServer
import TernTesting
import TestDevice
import Testing

/// A device is restored from a backup, and the server has lost what the device wrote after that.
/// Another device has it, and nobody can refuse what comes under the same numbers.
@Suite("Engine: a restored device and a server that lost its history", .timeLimit(.minutes(2)))
struct LostHistoryTests {
  struct Case: CustomTestStringConvertible, Sendable {
    var isRestoredFirst: Bool
    /// Or only after the restored device has seen the server.
    var writesBefore: Bool
    var isTrimmed: Bool
    var isWiped: Bool
    /// Or of before the device first wrote.
    var hasWritten = true

    var testDescription: String {
      (isRestoredFirst ? "the restored device first" : "the other device first")
        + (writesBefore ? ", having written" : ", writing then")
        + (isTrimmed ? ", trimmed logs" : "") + (isWiped ? ", wiped" : ", restored too")
        + (hasWritten ? "" : ", a backup of the first day")
    }
  }

  static let wiped = [true, false].flatMap { first in
    [true, false].flatMap { before in
      [true, false].map {
        Case(isRestoredFirst: first, writesBefore: before, isTrimmed: $0, isWiped: true)
      }
    }
  }

  /// The backup of the server is older than the device's.
  static let rolledBack = [true, false].map {
    Case(isRestoredFirst: $0, writesBefore: true, isTrimmed: false, isWiped: false)
  }

  static let firstDay = [true, false].flatMap { first in
    [true, false].map {
      Case(
        isRestoredFirst: first, writesBefore: $0, isTrimmed: false, isWiped: true, hasWritten: false
      )
    }
  }

  private func write(_ device: Device, _ id: String) async throws {
    try await device.execute("INSERT INTO item VALUES ('\(id)', '', 1)")
    try await device.execute("UPDATE item SET count = count + 10 WHERE id = '1'")
    try device.replica.store.seal()
  }

  @Test("INV-03: nobody misses what the other wrote", arguments: wiped + rolledBack + firstDay)
  func healed(_ test: Case) async throws {
    let folder = FileManager.default.temporaryDirectory.appending(
      path: "tern-lost-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let retention = test.isTrimmed ? Duration.seconds(-60) : Replica.defaultLogRetention
    var limits = ServerLimits()
    if test.isTrimmed { (limits.operationsPerSnapshot, limits.retention) = (3, .zero) }
    func device(_ name: String, _ port: Int) async throws -> Device {
      try await Device(path: folder.appending(path: name).path, logRetention: retention) { _ in
        [try Server.remote(port: port)]
      }
    }
    let store = Server.memoryStore(seed: 1)
    var after = Server.memoryStore(seed: 2)
    var (port, other) = (0, Device?.none)
    try await Server.run(store, limits: limits) { server in
      port = server.port
      let (phone, tablet) = (try await device("phone", port), try await device("tablet", port))
      func backUp() throws {
        try phone.database.backup(
          to: DatabaseQueue(path: folder.appending(path: "restored").path))
      }
      if !test.hasWritten {
        try await phone.syncOnce()
        try backUp()
      }
      try await write(phone, "1")
      for device in [phone, tablet] { try await device.syncOnce() }
      if !test.isWiped { after = MemorySpaceStore(copying: store) }
      try await write(phone, "one")
      try await write(tablet, "on the tablet")
      for device in [phone, tablet, phone, tablet] { try await device.syncOnce() }
      if test.hasWritten { try backUp() }
      try await write(phone, "two")
      for device in [phone, tablet] { try await device.syncOnce() }
      other = tablet
    }
    let (tablet, restored) = (try #require(other), try await device("restored", port))
    try await Server.run(after, port: port, limits: limits) { _ in
      if test.writesBefore { try await write(restored, "three") }
      try await (test.isRestoredFirst ? restored : tablet).syncOnce()
      if !test.writesBefore { try await write(restored, "three") }
      for device in [restored, tablet, restored, tablet, restored] { try await device.syncOnce() }
      let new = try await device("new", port)
      try await new.syncOnce()
      for device in [restored, tablet, new] {
        let ids = try await device.column("SELECT id FROM item ORDER BY id")
        #expect(ids == ["1", "on the tablet", "one", "three", "two"])
        // On the first day there was no row '1' to count in.
        let count = test.hasWritten ? "51" : "41"
        #expect(try await device.column("SELECT count FROM item WHERE id = '1'") == [count])
        #expect(device.engine.status.current.forks == [])
        #expect(device.engine.status.current.phase == .upToDate)
        let diagnosis = try await device.database.read { try DatabaseDiagnosis($0) }
        #expect(diagnosis.findings.isEmpty, "\(diagnosis.findings)")
      }
      let states = try [restored, tablet, new].map { try $0.replica.store.canonicalState() }
      #expect(states[0] == states[1] && states[1] == states[2])
    }
  }
}
#endif
