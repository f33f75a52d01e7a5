#if Server
import Foundation
import Hummingbird
import NIOCore
import TernCore

/// The longest report: some 2,000 tables with long names.
private let reportBytes = 256 << 10

extension SyncResponder {
  func reportState(_ request: Request, by grant: Grant) async throws -> Response {
    let (space, member) = (grant.space, grant.member)
    try await receiving(request, of: space, atMost: reportBytes, "a report") { body in
      try await queue.write(to: space) {
        try decode(body)
      } _: { report in
        try service.report(report, in: space, by: member)
      }
    }
    return now()
  }

  private func decode(_ body: ByteBuffer) throws(RemoteError) -> StateReport {
    guard
      let report = try? JSONDecoder().decode(
        StateReport.self, from: Data(body.readableBytesView))
    else {
      throw RemoteError(
        .malformed, "the report of a state is JSON with replica, cursor, operations and tables")
    }
    return report
  }
}
#endif
