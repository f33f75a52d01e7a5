#if Server
import Foundation
import Hummingbird
import NIOCore
import TernCore

/// The longest report: some 2,000 tables with long names.
private let reportBytes = 256 << 10

extension SyncResponder {
  func reportState(_ request: Request, in space: SpaceName) async throws -> Response {
    try await receiving(request, atMost: reportBytes, "a report") { body in
      let report = try decode(body)
      try await queue.write { try service.report(report, in: space) }
    }
    return now()
  }

  private func decode(_ body: ByteBuffer) throws(RemoteError) -> StateReport {
    guard
      let document = try? JSONDecoder().decode(
        StateDocument.self, from: Data(body.readableBytesView)),
      let report = document.report
    else {
      throw RemoteError(
        .malformed, "the report of a state is JSON with replica, cursor and tables")
    }
    return report
  }
}

/// A replica's report of its state, as it travels and as it is kept.
struct StateDocument: Codable {
  var replica: String
  var cursor: String
  /// In hexadecimal, as the numbers of tables.
  var operations: String
  var repaired: Bool?
  /// Shape and rows in hexadecimal, by table.
  var tables: [String: [String]]

  init(_ report: StateReport) {
    replica = report.replica.description
    cursor = report.cursor.rawValue
    operations = String(report.operations, radix: 16)
    repaired = report.isRepaired ? true : nil
    tables = report.tables.mapValues {
      [String($0.shape, radix: 16), String($0.rows, radix: 16)]
    }
  }

  /// `nil` where something in it is none.
  var report: StateReport? {
    guard let replica = ReplicaID(replica), let operations = UInt64(operations, radix: 16) else {
      return nil
    }
    var digests: [String: StateReport.Digest] = [:]
    for (name, numbers) in tables {
      guard numbers.count == 2, let shape = UInt64(numbers[0], radix: 16),
        let rows = UInt64(numbers[1], radix: 16)
      else { return nil }
      digests[name] = .init(shape: shape, rows: rows)
    }
    return StateReport(
      replica: replica, cursor: Cursor(rawValue: cursor), operations: operations,
      isRepaired: repaired ?? false,
      tables: digests)
  }
}
#endif
