import Foundation
import TernNetwork

/// A good answer of the server, not yet read.
struct RemoteAnswer: Sendable {
  static let batchType = "application/vnd.tern.batch"
  static let partType = "application/octet-stream"

  private let response: HTTPResponse

  /// - Throws: ``RemoteError`` for every status but 200, made of the problem that it carries.
  init(_ response: HTTPResponse) async throws {
    guard response.status == 200 else { throw try await RemoteError(refusal: response) }
    self.response = response
  }

  func json<Document: Decodable>(_ type: Document.Type) async throws -> Document {
    try requireType("application/json")
    let bytes = try await response.collect(limit: HTTPRemote.Limit.documentBytes)
    do {
      return try JSONDecoder().decode(type, from: Data(bytes))
    } catch {
      throw RemoteError(.unexpectedAnswer, "the server's answer is not the JSON that was expected")
    }
  }

  func page() async throws -> PulledPage {
    try requireType(Self.batchType)
    guard let cursor = response.headers["Tern-Cursor"], !cursor.isEmpty,
      let more = response.headers["Tern-More"], more == "0" || more == "1",
      let now = response.headers["Tern-Now"].flatMap({ Int64($0) })
    else {
      throw RemoteError(.unexpectedAnswer, "the server's batch lacks Tern-Cursor, -More or -Now")
    }
    let bytes = try await response.collect(limit: HTTPRemote.Limit.batchBytes)
    do {
      return PulledPage(
        operations: try OperationBatch(encoded: bytes).operations,
        cursor: RemoteCursor(rawValue: cursor),
        hasMore: more == "1", now: Date(milliseconds: now))
    } catch {
      throw RemoteError(.unexpectedAnswer, "the server's batch can't be read: \(error)")
    }
  }

  /// A part of a snapshot, which never is empty.
  func part() async throws -> [UInt8] {
    try requireType(Self.partType)
    let bytes = try await response.collect(limit: HTTPRemote.Limit.partBytes)
    guard !bytes.isEmpty else {
      throw RemoteError(.unexpectedAnswer, "the server's part of a snapshot is empty")
    }
    return bytes
  }

  func events() throws -> EventStream {
    try requireType("text/event-stream")
    return EventStream(response.body)
  }

  /// A portal that wants a login answers 200 with a page of its own.
  private func requireType(_ type: String) throws {
    guard response.hasType(type) else {
      throw RemoteError(.unexpectedAnswer, "the answer is not \(type); is this a Tern server?")
    }
  }
}
