import Foundation

// A request and its answer, whole. Their heads are in Header, what is sent in Upload, and what
// arrives in Body.

/// One request and how long its exchange may take.
///
/// Its description shows the method and the origin only: paths, queries, values of header fields
/// and bodies can hold secrets.
public struct HTTPRequest: Sendable {
  public struct Method: Hashable, Sendable, RawRepresentable {
    public let rawValue: String

    public init(rawValue: String) {
      self.rawValue = rawValue
    }

    public static let get = Method(rawValue: "GET")
    public static let head = Method(rawValue: "HEAD")
    public static let post = Method(rawValue: "POST")
    public static let put = Method(rawValue: "PUT")
    public static let patch = Method(rawValue: "PATCH")
    public static let delete = Method(rawValue: "DELETE")

    /// Whether the standard lets a client send the same request twice: RFC 9110, section 9.2.2.
    public var isIdempotent: Bool {
      switch self {
      case .get, .head, .put, .delete, .init(rawValue: "OPTIONS"): true
      default: false
      }
    }
  }

  /// What follows the head, always sent with its `Content-Length`.
  public enum Body: Hashable, Sendable {
    case empty
    /// With the type, the transport adds `Content-Type`, unless ``HTTPRequest/headers`` have one.
    case bytes([UInt8], type: String? = nil)
    /// Pieces one after the other. Files are read while they are sent, 64 KiB at a time, so that a
    /// body of any length takes no more memory.
    case segments([BodySegment])
    /// The same for a form, whose `Content-Type` the transport adds.
    case form(MultipartForm)

    public static func data(_ data: Data, type: String? = nil) -> Self {
      .bytes(Array(data), type: type)
    }

    /// A value as JSON, of the type `application/json`.
    ///
    /// - Throws: what `encoder` throws.
    public static func json(
      _ value: some Encodable, encoder: JSONEncoder = JSONEncoder()
    ) throws -> Self {
      .data(try encoder.encode(value), type: "application/json")
    }
  }

  public var method: Method
  /// An absolute `http` or `https` URL without user name and password.
  public var url: String
  /// The transport adds `Host`, `Content-Length` and `Transfer-Encoding` itself.
  public var headers: HTTPHeaders
  public var body: Body

  /// From ``HTTPTransport/send(_:)`` to the body's last byte; `nil` for no limit.
  public var timeout: Duration?
  /// The longest silence, from the beginning, in which no byte moves in either direction: 60
  /// seconds unless the request says otherwise, `nil` for no limit. Time in which the reader of the
  /// body lets it wait is not counted. A byte that is sent moves when the system takes it: how it
  /// goes on from there is not seen.
  public var idleTimeout: Duration?
  /// For the name look-up, the connection and TLS together.
  public var connectTimeout: Duration = .seconds(15)
  /// Whether the request may be sent again on a new connection when a kept one turns out to be
  /// closed after a part of the body was sent, or after all of a request without one. By default
  /// what the method says.
  public var isRepeatable: Bool
  /// libcurl's alone: URLSession has no word for it.
  package var needsNewConnection = false

  public init(
    _ method: Method, _ url: String, headers: HTTPHeaders = [:], body: Body = .empty,
    timeout: Duration? = nil, idleTimeout: Duration? = .seconds(60)
  ) {
    self.method = method
    self.url = url
    self.headers = headers
    self.body = body
    self.timeout = timeout
    self.idleTimeout = idleTimeout
    isRepeatable = method.isIdempotent
  }

  public init(
    _ method: Method, _ url: URL, headers: HTTPHeaders = [:], body: Body = .empty,
    timeout: Duration? = nil, idleTimeout: Duration? = .seconds(60)
  ) {
    self.init(
      method, url.absoluteString, headers: headers, body: body, timeout: timeout,
      idleTimeout: idleTimeout)
  }
}

extension HTTPRequest: CustomStringConvertible {
  public var description: String {
    "\(method.rawValue) \((try? HTTPOrigin(of: url))?.description ?? "(invalid URL)")"
  }
}
