import Foundation
import TernNetwork

/// A space on a Tern server, over HTTP. See `Docs/Server.md` for what travels.
///
/// Nothing is kept between calls but connections, which the transport owns; every call asks for
/// the token again, so that a renewed one is used at once.
public struct HTTPRemote: Remote {
  /// Base URL and space, e.g. `https://sync.example.org/v1/spaces/home`.
  public let id: String

  let token: @Sendable () async throws -> String
  let transport: any HTTPTransport

  /// - Parameters:
  ///   - url: Where the server's `v1` begins: what `tern serve` prints, or the proxy's before it,
  ///     `https://sync.example.org` for example. User name, query and fragment are left out.
  ///   - space: What `tern token create --space` names.
  ///   - token: Asked before every request. A ``RemoteError`` or `CancellationError` that it
  ///     throws reaches the caller as it is, an ``HTTPError`` or `URLError` as
  ///     ``RemoteError/Code/unreachable``, every other error as
  ///     ``RemoteError/Code/unauthorized`` without its text.
  public init(
    _ url: URL, space: String, token: @escaping @Sendable () async throws -> String,
    over transport: any HTTPTransport = SystemTransport.shared
  ) {
    id = Self.base(of: url) + "/v1/spaces/" + Self.escaped(space)
    self.token = token
    self.transport = transport
  }

  public func greet(as replica: ReplicaID?) async throws -> RemoteGreeting {
    try await answering {
      let query = replica.map { "?replica=\($0)" } ?? ""
      return try await exchange(request(.get, query)).json(GreetingDocument.self).greeting()
    }
  }

  public func push(_ operations: [SyncOperation]) async throws -> PushReceipt {
    try await answering {
      var request = try await request(.post, "/operations")
      request.headers["Content-Type"] = RemoteAnswer.batchType
      request.body = .bytes(OperationBatch(operations).encoded())
      // The server acknowledges operations that it has already.
      request.isRepeatable = true
      return try await exchange(request).json(ReceiptDocument.self).receipt()
    }
  }

  public func pull(after cursor: RemoteCursor?, excluding excluded: ReplicaID) async throws
    -> PulledPage
  {
    try await answering {
      let after = cursor.map { "&after=" + Self.escaped($0.rawValue) } ?? ""
      let query = "?excluding=\(excluded)" + after
      return try await exchange(request(.get, "/operations" + query)).page()
    }
  }

  /// Ends when the server ends the connection, and throws when it is lost or silent for 45 seconds:
  /// the server gives a sign of life every 15. A server that ends sends its devices away one after
  /// the other, and says how long each is to wait. Then it throws too, with `retryAfter`.
  ///
  /// The request is made when the first position is asked for. Whoever stops asking, by
  /// cancellation or by letting go of the stream and its iterator, ends the connection.
  ///
  /// - Throws: ``RemoteError``, `CancellationError`.
  public func positions(after cursor: RemoteCursor?) -> AsyncThrowingStream<UInt64, any Error> {
    // Pulled by its reader, so no task of ours has to run, or to be stopped, beside it.
    let reader = PositionReader(self, after: cursor)
    return AsyncThrowingStream { try await reader.next() }
  }
}

extension HTTPRemote {
  /// What one exchange may take; the server's limits are its own.
  enum Limit {
    /// A whole exchange other than the event stream: 32 MiB over a bad mobile network.
    static let exchange = Duration.seconds(600)
    /// Without a byte in either direction; the server is storing a batch for a part of it.
    static let idle = Duration.seconds(60)
    /// Of an event stream, which carries a sign of life every 15 seconds.
    static let silence = Duration.seconds(45)
    /// A greeting names every replica that the space has seen, in about 60 bytes each.
    static let documentBytes = 16 << 20
    /// A batch that did not shrink, and its own head.
    static let batchBytes = OperationBatch.Limit.bytes + 64
    /// A part of a snapshot.
    static let partBytes = SnapshotPart.Limit.bytes
  }

  func request(_ method: HTTPRequest.Method, _ path: String) async throws -> HTTPRequest {
    HTTPRequest(
      method, id + path,
      headers: ["Authorization": "Bearer " + (try await currentToken())],
      timeout: Limit.exchange, idleTimeout: Limit.idle)
  }

  func exchange(_ request: HTTPRequest) async throws -> RemoteAnswer {
    do {
      return try await RemoteAnswer(transport.send(request))
    } catch let error as RemoteError {
      throw error.without(request.headers["Authorization"]?.dropFirst("Bearer ".count) ?? "")
    }
  }

  private func currentToken() async throws -> String {
    do {
      return try await token()
    } catch let error as RemoteError {
      throw error
    } catch let error as CancellationError where Task.isCancelled {
      throw error
    } catch let error as HTTPError {
      throw RemoteError(error)
    } catch let error as URLError {
      // Who could not ask for a new token does not know what the old one is worth.
      throw RemoteError(
        .unreachable, "there is no token: its closure reached nobody (\(error.code.rawValue))")
    } catch {
      // Only the type: the text of a stranger's error may hold the secret itself.
      throw RemoteError(.unauthorized, "there is no token: its closure threw \(type(of: error))")
    }
  }

  /// Turns what can go wrong on the way into the protocol's own error.
  func answering<Answer>(_ work: () async throws -> Answer) async throws -> Answer {
    do {
      return try await work()
    } catch let error as HTTPError {
      throw RemoteError(error)
    }
  }
}
