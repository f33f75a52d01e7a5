import Foundation
import Tern
import TernNetwork
import TernTesting
import Testing

/// A server whose answer to every pull is the same, and to whoever wants a part of a snapshot.
struct HostileTransport: HTTPTransport {
  let batch: [UInt8]
  var greeting = #"{"epoch":"e","heads":{},"now":\#(Forger.now),"position":1}"#

  func send(_ request: HTTPRequest) async throws -> HTTPResponse {
    if request.url.contains("/operations?") {
      return HTTPResponse(
        status: 200,
        headers: [
          "Content-Type": "application/vnd.tern.batch", "Tern-Cursor": "1", "Tern-More": "0",
          "Tern-Now": "\(Forger.now)",
        ], body: HTTPBody(batch))
    }
    if request.url.contains("/parts/") {
      return HTTPResponse(
        status: 200, headers: ["Content-Type": "application/octet-stream"], body: HTTPBody(batch))
    }
    let receipt = #"{"accepted":0,"now":\#(Forger.now),"position":1}"#
    let text = request.method == .post ? receipt : greeting
    return HTTPResponse(
      status: 200, headers: ["Content-Type": "application/json"], body: HTTPBody(Array(text.utf8)))
  }

  func shutdown() async {}

  var remote: HTTPRemote {
    HTTPRemote(
      URL(string: "http://hostile.example")!, space: "home", token: { "t" }, over: self)
  }

  /// A frame that says of itself what it is told to; where no length is given, the content's.
  static func frame(
    compression: UInt8 = 0, count: Int, length: Int? = nil, _ content: [UInt8]
  ) -> [UInt8] {
    var writer = ByteWriter()
    writer.append(raw: Array("TRN1".utf8))
    writer.append(byte: compression)
    writer.append(varint: UInt64(count))
    writer.append(varint: UInt64(length ?? content.count))
    writer.append(raw: content)
    return writer.bytes
  }
}

extension HostileMeeting {
  /// A device of its own refuses the answer for that reason, and merges nothing of it.
  static func refuses(
    _ batch: [UInt8], _ reason: String, location: SourceLocation = #_sourceLocation
  ) async throws {
    let meeting = try await HostileMeeting(.sqlite)
    let error = await #expect(throws: RemoteError.self, sourceLocation: location) {
      try await meeting.sync(with: HostileTransport(batch: batch).remote)
    }
    #expect(error?.code == .unexpectedAnswer, sourceLocation: location)
    #expect(
      error?.message.contains(reason) == true, "\(String(describing: error))",
      sourceLocation: location)
    #expect(try meeting.store.versionVector()[Forger.id] == 0, sourceLocation: location)
    try await meeting.checkIntact(location: location)
  }
}
