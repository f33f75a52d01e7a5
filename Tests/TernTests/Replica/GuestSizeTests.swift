import Foundation
import GRDB
import TernJobs
import TestDevice
import TestProcesses
import Testing

@testable import Tern

private let creation = """
  CREATE TABLE item (id TEXT PRIMARY KEY NOT NULL, title TEXT, n INTEGER NOT NULL DEFAULT 0)
  """
private let schema = SyncSchema(version: 1, tables: [SyncTable("item")])

/// What Tern's own tables add to an app's file.
@Suite("Replica: how large a guest it is")
struct GuestSizeTests {
  /// What is on disk once the log is in the file.
  private func size(_ path: String, _ database: DatabasePool) throws -> Int {
    try database.writeWithoutTransaction { _ = try $0.checkpoint(.truncate) }
    return try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int ?? 0
  }

  @Test func `a file with one empty synced table has at most 120 KB`() async throws {
    try await inTemporaryFolder { folder in
      let path = "\(folder)/app.sqlite"
      let database = try DatabasePool(path: path)
      _ = try Device(database, schema, id: 1, migrator: .steps([creation]))
      let bare = try size(path, database)
      #expect(bare <= 120 * 1024, "\(bare) bytes")
      // Opening again makes none of what is missing.
      let again = try Device(database, schema, id: 1, migrator: .steps([creation]))
      let made = try again.rareTables()
      #expect(made == [])
      let opened = try size(path, database)
      #expect(opened == bare)
      _ = try await JobQueue.open(database)
      let withJobs = try size(path, database)
      #expect(withJobs <= 240 * 1024, "\(withJobs) bytes")
    }
  }

  @Test func `it is read and found sound as it is`() throws {
    try withTemporaryFolder { folder in
      let path = "\(folder)/app.sqlite"
      let device = try Device(
        DatabasePool(path: path), schema, id: 1, migrator: .steps([creation]))
      try device.commit("INSERT INTO item (id, title) VALUES ('1', 'Dune')")
      #expect(try device.rareTables() == [])
      let replica = try #require(try DatabaseFileInspection(path: path).replicas.first)
      #expect(replica.tables.map(\.aliveRows) == [1])
      #expect(replica.forks.isEmpty && replica.conflicts.isEmpty && replica.pending.isEmpty)
      let diagnosis = try DatabaseDiagnosis(path: path)
      #expect(diagnosis.findings.map { "\($0)" } == [] && diagnosis.remarks.map(\.check) == [])
      let row = try DatabaseFileRow(path: path, table: "item", key: ["1"])
      #expect(try row.explanation().standing == .shown)
      #expect(try row.history().changes.count == 1)
      #expect(try device.store.counts().conflicts.isEmpty)
      #expect(try device.rareTables() == [])
    }
  }

  @Test func `what devices do every day makes none`() throws {
    let (a, b) = try Device.pair(schema, creation)
    for round in 0..<3 {
      try a.execute("INSERT INTO item (id, title) VALUES ('a\(round)', 'x')")
      try b.execute("INSERT INTO item (id, title) VALUES ('b\(round)', 'y')")
      try b.execute("UPDATE item SET n = n + 1; DELETE FROM item WHERE id = 'a0'")
      try meet(a, b)
    }
    try expectEqual(a, b, "item")
    for device in [a, b] {
      let made = try device.rareTables()
      #expect(made == [])
    }
  }
}
