#if Server
import Foundation
import GRDB
import Tern
import Testing

@testable import TernServer

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Each test puts numbers that no server writes into one column of a space, and asks for
/// everything: that space may be refused, and nothing else notices.
@Suite("SQLite: numbers out of range are one space's error")
struct StoredNumberTests {
  struct Column: CustomTestStringConvertible {
    let table: String
    let name: String
    var testDescription: String { "\(table).\(name)" }

    /// Where the rows of the space `home` are.
    var home: String {
      let id = "(SELECT id FROM space WHERE name = 'home')"
      return switch table {
      case "space": "name = 'home'"
      case "snapshot_part": "snapshot IN (SELECT id FROM snapshot WHERE space = \(id))"
      default: "space = \(id)"
      }
    }

    /// What the column can have; `nil` for one that refers to rows.
    var number: StoredNumber? {
      StoredNumber.columns.first { $0.table == table && $0.column == name }?.number
    }
  }

  /// Every column of integers that a server's file has of a space.
  static let columns: [Column] = {
    let columns = try? DatabaseQueue().write { db in
      try ServerSchema.createTables(db, format: ServerFile.formatVersion)
      return try Row.fetchAll(
        db,
        sql: """
          SELECT t.name, c.name FROM pragma_table_list AS t, pragma_table_info(t.name) AS c
          WHERE t.schema = 'main' AND t.strict AND c.type = 'INTEGER'
            AND t.name NOT IN ('store', 'audit')
          ORDER BY 1, 2
          """
      ).map { Column(table: $0[0], name: $0[1]) }
    }
    return columns ?? []
  }()

  static let values: [Int64] = [.max, .min, -1, 1 << 52]

  @Test func `every column of integers is known`() {
    #expect(Self.columns.count > 30)
    let references: Set = ["id", "space", "snapshot"]
    #expect(Self.columns.filter { $0.number == nil && !references.contains($0.name) }.isEmpty)
  }

  @Test(arguments: columns)
  func `the process lives, and other spaces are served`(_ column: Column) async throws {
    for value in Self.values {
      let patient = try ServerPatient()
      try await LiveServer.run(clock: patient.clock, store: patient.store) { server async throws in
        let end = try patient.service.end().rawValue
        try patient.harm(
          "UPDATE OR REPLACE \(column.table) SET \(column.name) = \(value) WHERE \(column.home)")
        let refused = try await askForEverything(server, patient, from: end)
        let isForeign = column.number.map { !$0.range.contains(value) } ?? false
        if isForeign {
          let found = try patient.diagnosis().findings.filter { $0.check == "number" }
          #expect(!found.isEmpty, "\(column) = \(value)")
          #expect(found.allSatisfy { $0.place.space == "home" && $0.place.table == column.table })
        } else {
          _ = try patient.diagnosis()
        }
        let unread = ["token", "snapshot_part", "operation"]
        // No snapshot of the space gave way.
        let isUnread = unread.contains(column.table) || column.name == "dropped_ms"
        if isForeign, column.number != .flag, !isUnread {
          #expect(refused > 0, "\(column) = \(value)")
        }
        #expect(try server.service.removeSpace(.home))
      }
    }
  }

  /// Returns how many requests of the space found it damaged.
  private func askForEverything(
    _ server: LiveServer, _ patient: ServerPatient, from end: String
  ) async throws -> Int {
    var generator = SeededGenerator(state: 99)
    let other = try server.service.createToken(for: .work, using: &generator)
    var refused = 0
    for request in try requests(server, patient, from: end) {
      let answer = try await server.send(request)
      #expect(answer.problem != nil || answer.status < 300)
      if answer.status == 503 { refused += 1 }
      let works = try await server.send(server.request("/v1/spaces/work", token: other))
      #expect(works.status == 200)
    }
    for work in [
      { _ = try server.service.heads(of: .home) }, { _ = try server.service.maintain(.home) },
    ] {
      do { try work() } catch let error as StoreError {
        #expect(error.message.contains("space home") && error.message.contains("table"))
        refused += 1
      } catch is RemoteError {}
    }
    var fay = patient.fay
    #expect(try server.service.push([fay.fragment()], to: .work).accepted == 1)
    #expect(try server.service.maintain(.work) == false)
    #expect(try !server.service.store.tokens().isEmpty)
    return refused
  }

  private func requests(_ server: LiveServer, _ patient: ServerPatient, from end: String) throws
    -> [URLRequest]
  {
    var (bob, gil) = (Author(2), Author(7))
    bob.sequence = 3
    bob.time = HybridTime(milliseconds: 1_080_000)
    let root = "/v1/spaces/home"
    let eve = ServerPatient.eve
    func json(_ path: String, _ method: String, _ body: String) -> URLRequest {
      server.request(path, method: method, type: "application/json", body: Array(body.utf8))
    }
    func push(_ operation: SyncOperation) -> URLRequest {
      server.request(
        "\(root)/operations", method: "POST", type: "application/vnd.tern.batch",
        body: OperationBatch([operation]).encoded())
    }
    let offer = #"{"key":"q","parts":1,"cursor":"\#(end)","base":false,"heads":{}}"#
    let report =
      #"{"replica":"\#(eve)","cursor":"\#(end)","operations":"1","repaired":true,"tables":{}}"#
    let known = try patient.store.pool.read {
      try String.fetchAll($0, sql: "SELECT name FROM snapshot WHERE name IS NOT NULL")
    }
    return [
      server.request(root), push(gil.write()), push(bob.write()),
      server.request("\(root)/operations"),
      server.request("\(root)/operations?after=\(end)&excluding=\(eve)"),
      server.request("\(root)/operations?excluding=\(eve)"),
      json("\(root)/snapshots", "POST", offer), json("\(root)/state", "PUT", report),
    ]
      + known.flatMap { id in
        [
          server.request(
            "\(root)/snapshots/\(id)/parts/0", method: "PUT", type: "application/octet-stream",
            body: [1, 2, 3]),
          server.request("\(root)/snapshots/\(id)", method: "POST"),
          server.request("\(root)/snapshots/\(id)/parts/0"),
        ]
      }
  }
}
#endif
