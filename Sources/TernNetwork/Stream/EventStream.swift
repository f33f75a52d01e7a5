import TernCore

/// Server-sent events of one exchange, in their order, each once.
///
/// ```swift
/// let request = HTTPRequest(.get, url, timeout: .seconds(300), idleTimeout: .seconds(45))
/// guard let stream = try await EventStream.open(request, after: lastEventID) else { return }
/// for try await event in stream {
///   try await store(event, lastEventID: event.id)
/// }
/// ```
///
/// It does not connect again on its own: how often, after which wait, and after which event that
/// is to be is durable state of the caller's, who stores ``ServerEvent/id`` in the transaction that
/// handles the event and opens another stream after it. What the server has sent and the caller
/// has not stored then comes again, so that nothing is lost or handled twice.
///
/// ``HTTPRequest/idleTimeout`` ends a stream that fell silent; every byte is a sign of life,
/// comments and events that the caller does not care about included.
/// ``HTTPRequest/timeout`` ends it however lively it is. The exchange ends when its reader is
/// cancelled, or when nobody holds the stream any more.
///
/// - Source: WHATWG HTML, section 9.2, "Server-sent events".
public actor EventStream: AsyncSequence {
  public typealias Element = ServerEvent
  public typealias Failure = any Error

  private let chunks: HTTPBody
  private var parser: EventStreamParser

  /// The events of an answer that the caller has asked for and found good.
  public init(
    _ chunks: HTTPBody, after lastEventID: String = "",
    limit: EventStreamParser.Limit = EventStreamParser.Limit()
  ) {
    self.chunks = chunks
    parser = EventStreamParser(limit: limit, lastEventID: lastEventID)
  }

  /// Sends a request and returns when the server has begun to answer with events.
  ///
  /// - Parameters:
  ///   - request: `Accept`, `Accept-Encoding`, `Cache-Control` and `Last-Event-ID` are set here.
  ///   - lastEventID: the id of the last event that was handled, for those after it; empty for
  ///     all. One that no header field can hold is left out.
  /// - Returns: `nil` when the server says that there is nothing any more and nobody is to ask
  ///   again (204).
  /// - Throws: ``HTTPProblem`` for any status but 200 and 204; ``EventStreamError`` with
  ///   ``EventStreamError/Code/notAnEventStream``; ``HTTPError``; `CancellationError`.
  public static func open(
    _ request: HTTPRequest, after lastEventID: String = "",
    over transport: any HTTPTransport = SystemTransport.shared,
    limit: EventStreamParser.Limit = EventStreamParser.Limit()
  ) async throws -> EventStream? {
    var request = request
    setFields(of: &request)
    let isSendable =
      !lastEventID.isEmpty && HTTPHeaders.isFieldValue(lastEventID)
      && !Planted.isActive(.streamResumedAnew)
    request.headers["Last-Event-ID"] = isSendable ? lastEventID : nil
    let response = try await transport.send(request)
    switch response.status {
    case 204: return nil
    case 200 where response.hasType("text/event-stream"):
      return EventStream(response.body, after: lastEventID, limit: limit)
    case 200: throw EventStreamError(code: .notAnEventStream, limitBytes: 0)
    default: throw try await HTTPProblem(response, to: request)
    }
  }

  /// What a request for events says.
  package static func setFields(of request: inout HTTPRequest) {
    request.headers["Accept"] = "text/event-stream"
    // What a cache kept is no stream.
    request.headers["Cache-Control"] = "no-cache"
    // What compresses on the way keeps events until it has enough of them.
    request.headers["Accept-Encoding"] = "identity"
  }

  /// How long the server wants a client to wait before it connects again, as far as it has said.
  public var reconnectionTime: Duration? { parser.reconnectionTime }

  /// The next event, `nil` when the server has ended the stream. An event that the end cuts off is
  /// left out. One task at a time.
  ///
  /// - Throws: ``HTTPError`` when the connection broke, fell silent or ran out of time;
  ///   ``EventStreamError`` for a line or event over its limit; `CancellationError`.
  public func next() async throws -> ServerEvent? {
    while true {
      while let item = try parser.next() {
        if case .event(let event) = item { return event }
      }
      var chunks = chunks.makeAsyncIterator()
      guard let chunk = try await chunks.next() else { return nil }
      parser.append(chunk)
    }
  }

  public struct Iterator: AsyncIteratorProtocol, Sendable {
    fileprivate let stream: EventStream

    public mutating func next() async throws -> ServerEvent? { try await stream.next() }
  }

  public nonisolated func makeAsyncIterator() -> Iterator { Iterator(stream: self) }
}
