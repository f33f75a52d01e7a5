#if Server
import Foundation
import Hummingbird
import NIOCore
import TernCore

/// What came with an operator's request.
struct AdminBody: Sendable {
  private let bytes: [UInt8]
  /// The longest has a member's name and a label.
  static let mostBytes = 16 << 10

  /// - Throws: ``RemoteError`` with `too-large` or `unsupported-media-type`.
  init(of request: Request) async throws {
    do {
      bytes = Array(try await request.body.collect(upTo: Self.mostBytes).readableBytesView)
    } catch is NIOTooManyBytesError {
      throw RemoteError(.tooLarge, "a request has at most \(Self.mostBytes) bytes; send less")
    }
    let type = request.headers[.contentType]?.split(separator: ";").first?.lowercased()
    guard bytes.isEmpty || type == nil || type == "application/json" else {
      throw RemoteError(.unsupportedMediaType, "a request has the content type application/json")
    }
  }

  /// - Throws: ``RemoteError`` with `malformed`.
  func checkIsEmpty() throws(RemoteError) {
    guard bytes.isEmpty else { throw RemoteError(.malformed, "this request has no body") }
  }

  /// What it says. A key that is none is a slip, which would leave what it was to set at its
  /// default.
  ///
  /// - Parameter isOptional: whether it says nothing where it is empty.
  /// - Throws: ``RemoteError`` with `malformed`.
  func decode<Content: AdminContent>(
    _ type: Content.Type, isOptional: Bool = false
  ) throws(RemoteError) -> Content {
    let data = Data(bytes.isEmpty && isOptional ? Array("{}".utf8) : bytes)
    let keys = Set(Content.CodingKeys.allCases.map(\.stringValue))
    guard let found = try? JSONDecoder().decode([String: AnyValue].self, from: data),
      keys.isSuperset(of: found.keys), let content = try? JSONDecoder().decode(type, from: data)
    else {
      throw RemoteError(
        .malformed,
        "the body is a JSON object of \(keys.sorted().joined(separator: ", ")), each of its type and "
          + "nothing else; see GET \(AdminRoute.root)/openapi.json")
    }
    return content
  }

  /// Any value, of which nobody asks what it is.
  private struct AnyValue: Decodable {
    init(from decoder: any Decoder) {}
  }
}

/// What a request can say, each of it or not.
protocol AdminContent: Decodable {
  associatedtype CodingKeys: CodingKey, CaseIterable
}

/// The place of what the server gives every space; what is absent is the server's own.
struct QuotaContent: AdminContent {
  enum CodingKeys: CodingKey, CaseIterable { case bytes, operations, authors, share }

  var bytes: Int?
  var operations: Int?
  var authors: Int?
  var share: Int?

  var quota: SpaceQuota {
    SpaceQuota(bytes: bytes, operations: operations, authors: authors, share: share)
  }
}

struct TokenContent: AdminContent {
  enum CodingKeys: CodingKey, CaseIterable { case member, label, expires }

  var member: String?
  var label: String?
  var expires: Int64?
}

struct RotationContent: AdminContent {
  enum CodingKeys: CodingKey, CaseIterable { case graceSeconds, expires }

  var graceSeconds: Int?
  var expires: Int64?
}

struct AdmissionContent: AdminContent {
  enum CodingKeys: CodingKey, CaseIterable { case through }

  var through: UInt64?
}

struct MemberContent: AdminContent {
  enum CodingKeys: CodingKey, CaseIterable { case member }

  var member: String?
}

struct RestoreContent: AdminContent {
  enum CodingKeys: CodingKey, CaseIterable { case overQuota }

  var overQuota: Bool?
}
#endif
