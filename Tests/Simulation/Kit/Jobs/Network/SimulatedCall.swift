#if Server && Rehearsal
import Foundation
import Tern
import TernNetwork

/// A request as it is seen on the network.
struct SimulatedCall: CustomStringConvertible {
  enum Purpose: String {
    /// A step of a job.
    case work = "jobs"
    /// A stream of events.
    case events
    case upload = "uploads"
    /// A question to the app's own server.
    case health
  }

  let origin: HTTPOrigin
  let service: String
  let purpose: Purpose
  /// Whose handler asks, and what for.
  let job: Int64?
  let name: String
  /// Behind the origin, without what a redirect has added.
  let place: String
  /// No redirect has led here.
  let isFirst: Bool
  let key: String?
  let lastEventID: Int
  let body: [UInt8]

  var isLocal: Bool { origin.isLoopback }
  var isSecure: Bool { origin.scheme == "https" }
  var description: String { "\(service)\(place)" }

  /// - Throws: ``HTTPError`` for what no transport sends.
  init(_ request: HTTPRequest) throws {
    origin = try request.validated()
    let host = origin.host.prefix { $0 != "." }
    service = origin.isLoopback ? SimulatedServices.local : String(host)
    var parts = request.url.split(separator: "/").dropFirst(2)
    let isMoved = parts.first == "moved"
    if isMoved { parts = parts.dropFirst() }
    place = parts.map { "/\($0)" }.joined()
    isFirst = !isMoved && SimulatedServices.names.contains(service)
    purpose = parts.popFirst().flatMap { Purpose(rawValue: String($0)) } ?? .health
    job = parts.popFirst().flatMap { Int64($0) }
    name = parts.first.map { String($0) } ?? ""
    key = request.headers["Idempotency-Key"]
    lastEventID = request.headers["Last-Event-ID"].flatMap { Int($0) } ?? 0
    if case .bytes(let bytes, _) = request.body { body = bytes } else { body = [] }
  }
}
#endif
