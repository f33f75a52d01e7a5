import Synchronization
import Tern
import TernNetwork

/// Any transport, with the bytes of all bodies counted: what an app shows as its network use.
final class Metered: HTTPTransport {
  struct Bytes: Sendable {
    var sent = 0
    var received = 0
  }

  private let base: any HTTPTransport
  private let count = Mutex(Bytes())

  init(_ base: any HTTPTransport = SystemTransport.shared) {
    self.base = base
  }

  var bytes: Bytes { count.withLock { $0 } }

  func send(_ request: HTTPRequest) async throws -> HTTPResponse {
    if case .bytes(let body, _) = request.body { count.withLock { $0.sent += body.count } }
    var response = try await base.send(request)
    let body = Reader(response.body)
    response.body = HTTPBody { [self] in
      let chunk = try await body.next()
      count.withLock { $0.received += chunk?.count ?? 0 }
      return chunk
    }
    return response
  }

  func shutdown() async { await base.shutdown() }

  /// A body goes on where it stopped, whichever iterator asks.
  private struct Reader: Sendable {
    let body: HTTPBody

    init(_ body: HTTPBody) {
      self.body = body
    }

    func next() async throws -> [UInt8]? {
      var iterator = body.makeAsyncIterator()
      return try await iterator.next()
    }
  }
}
