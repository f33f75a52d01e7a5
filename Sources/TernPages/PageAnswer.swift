#if Server
import Foundation
import HTTPTypes
import Hummingbird
import NIOCore

/// What a page asks its program.
package struct PageRequest: Sendable {
  /// Behind `/api/`.
  package let path: String
  /// By name; of one that is given twice the last.
  package let query: [String: String]
  /// Whether it may change something.
  package let isChange: Bool
  /// Of a change; at most 64 KiB.
  package let body: Data
}

/// JSON, and whether all went well.
package struct PageAnswer: Sendable {
  let status: HTTPResponse.Status
  let body: Data

  package init(_ document: some Encodable) throws {
    (status, body) = (.ok, try Self.encoder.encode(document))
  }

  /// A sentence for people in place of what was asked for.
  ///
  /// - Parameters:
  ///   - code: tells the page which it is.
  ///   - passes: whether to ask again may help.
  package static func failure(_ code: String, _ message: String, passes: Bool = false) -> PageAnswer
  {
    PageAnswer(.conflict, code, message, passes: passes)
  }

  package static let unknown = PageAnswer(.notFound, "unknown", "there is no such path")

  init(_ status: HTTPResponse.Status, _ code: String, _ message: String, passes: Bool = false) {
    self.status = status
    let document = ["code": code, "message": message, "passes": passes ? "yes" : "no"]
    // Strings are always JSON.
    body = (try? Self.encoder.encode(document)) ?? Data()
  }

  private static var encoder: JSONEncoder {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return encoder
  }

  var response: Response {
    Response(
      status: status, headers: [.contentType: "application/json"],
      body: .init(byteBuffer: ByteBuffer(bytes: body)))
  }
}
#endif
