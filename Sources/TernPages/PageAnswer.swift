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
  /// What the page sent to a path that takes a file. It is removed once there is an answer.
  package let file: URL?
}

/// JSON or a file, and whether all went well.
package struct PageAnswer: Sendable {
  let status: HTTPResponse.Status
  let type: String
  let body: Data

  package init(_ document: some Encodable) throws {
    (status, type, body) = (.ok, Self.json, try Self.encoder.encode(document))
  }

  /// - Parameter type: a media type, of which a browser must make no page.
  package init(_ content: Data, type: String) {
    (status, self.type, body) = (.ok, type, content)
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
    (self.status, type) = (status, Self.json)
    let document = ["code": code, "message": message, "passes": passes ? "yes" : "no"]
    // Strings are always JSON.
    body = (try? Self.encoder.encode(document)) ?? Data()
  }

  private static let json = "application/json"

  private static var encoder: JSONEncoder {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return encoder
  }

  var response: Response {
    Response(
      status: status, headers: [.contentType: type],
      body: .init(byteBuffer: ByteBuffer(bytes: body)))
  }
}
#endif
