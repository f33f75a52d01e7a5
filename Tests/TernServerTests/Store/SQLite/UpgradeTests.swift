#if Server
import Foundation
import GRDB
import Tern
import Testing

@testable import TernServer

@Suite("SQLite: a data file of format 1")
struct UpgradeTests {
  private let folder: TemporaryFolder
  private let path: String

  /// The file that `Fixtures/v1` has as text.
  init() throws {
    folder = try TemporaryFolder()
    path = folder.path("server.tern")
    let fixture = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .appendingPathComponent("../../Fixtures/v1/data.sql")
    let queue = try DatabaseQueue(path: path)
    let text = try String(contentsOf: fixture, encoding: .utf8)
    try queue.write { try $0.execute(sql: text) }
    try queue.close()
  }

  private func author(_ byte: UInt8) -> ReplicaID {
    ReplicaID(bytes: [UInt8](repeating: byte, count: 16))!
  }

  @Test("it is brought forward, and goes on")
  func goesOn() throws {
    for round in 0..<2 {
      let store = try openStore(path)
      let service = SpaceService(
        store: store, clock: ServerClock { Date(milliseconds: 1_795_300_000_000) })
      #expect(store.epoch == "598f6874aa366c7fb5b51d726dd4a398")
      let cursor = RemoteCursor(rawValue: "\(store.epoch).4.5c36221ca2603c9d")
      let token = "tern_ce76f5c5de71f658c09b580a608e5692328f2dd9da66e2f82b6a62585656f62c"
      try service.authorize(token, for: .home)
      let page = try service.pull(from: .home, after: nil, excluding: author(2))
      #expect(page.operations.map(\.envelope.sequence) == Array(1...UInt64(3 + round)))
      // What the first round pushed.
      #expect(try service.pull(from: .home, after: cursor).operations.count == round)
      let next = SyncOperation(
        .init(
          replica: author(1), sequence: 4,
          time: HybridTime(milliseconds: 1_700_000_000_002)), body: [])
      _ = try service.push([next], to: .home)
      #expect(try service.greet(.home).position == 5)
      try expectHealthy(store)
      try store.close()
    }
  }

  @Test("a snapshot of it can be kept, and its operations trimmed")
  func trims() throws {
    let before = try Data(contentsOf: URL(fileURLWithPath: path))
    #expect(before.range(of: Data("three".utf8)) != nil)
    let store = try openStore(path)
    var limits = ServerLimits()
    (limits.retention, limits.trimmedAge) = (.zero, .zero)
    let service = SpaceService(
      store: store, clock: ServerClock { Date(milliseconds: 1_795_300_000_000) }, limits: limits)
    let times = [1: (3, 2), 2: (1, 1)] as [UInt8: (UInt64, Int64)]
    let heads = times.map { byte, head in
      let time = HybridTime(milliseconds: 1_700_000_000_000 + head.1)
      return (author(byte), SnapshotHead(sequence: head.0, time: time))
    }
    try service.upload(
      SnapshotOffer(
        key: "k", parts: 2, cursor: service.end(),
        heads: Dictionary(uniqueKeysWithValues: heads)))
    #expect(try service.greet(.home).trimmed == 4)
    try expectHealthy(store)
    try store.close()
    let bytes = try Data(contentsOf: URL(fileURLWithPath: path))
    #expect(bytes.range(of: Data("three".utf8)) == nil)
  }

  @Test("the doctor reads it as it is, and finds what is broken in it")
  func doctor() throws {
    func findings() throws -> [String] {
      try DatabaseDiagnosis(path: path, other: ServerDoctor.look).findings.map(\.check)
    }
    #expect(try findings() == [])
    try DatabaseQueue(path: path).write {
      try $0.execute(sql: "DELETE FROM operation WHERE position = 2")
    }
    #expect(try findings() == ["position-gap"])
  }

  @Test("it has the tables that a new file has")
  func sameTables() throws {
    try openStore(path).close()
    try openStore(folder.path("new.tern")).close()
    let schemas = try [path, folder.path("new.tern")].map { path in
      try DatabaseQueue(path: path).read { db in
        try String.fetchAll(
          db, sql: "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name")
      }
    }
    #expect(schemas[0] == schemas[1] && schemas[0].count > 5)
  }
}
#endif
