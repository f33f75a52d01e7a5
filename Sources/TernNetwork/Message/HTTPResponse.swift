import Foundation

/// An answer whose head has arrived and whose body arrives as it is read.
public struct HTTPResponse: Sendable {
  /// 200 to 999; any status is an answer.
  public var status: Int
  public var headers: HTTPHeaders
  public var body: HTTPBody

  public init(status: Int, headers: HTTPHeaders = [:], body: HTTPBody = HTTPBody()) {
    self.status = status
    self.headers = headers
    self.body = body
  }

  /// The whole body, when it is no longer than `limit` bytes.
  ///
  /// - Throws: ``HTTPError`` with ``HTTPError/Code/bodyTooLarge`` as soon as that is known, or what
  ///   ended the exchange; `CancellationError`.
  public func collect(limit: Int) async throws -> [UInt8] {
    if let length = headers["Content-Length"].flatMap({ Int($0) }), length > limit {
      throw HTTPError(.bodyTooLarge, origin: nil, "\(length) bytes, over the limit of \(limit)")
    }
    return try await body.collect(limit: limit)
  }

  /// The whole body as a value, whatever its media type says.
  ///
  /// - Parameters:
  ///   - limit: of the body, in bytes.
  ///   - decoder: where the service's dates or names need another than the plain one.
  /// - Throws: ``HTTPError`` with ``HTTPError/Code/unexpectedBody`` where it is no JSON of that
  ///   form, without what it holds; as ``collect(limit:)``.
  public func json<Value: Decodable>(
    _ type: Value.Type = Value.self, limit: Int = 4 << 20, decoder: JSONDecoder = JSONDecoder()
  ) async throws -> Value {
    let bytes = try await collect(limit: limit)
    do {
      return try decoder.decode(type, from: Data(bytes))
    } catch {
      throw HTTPError(.unexpectedBody, origin: nil, "it is not the JSON that was asked for")
    }
  }

  /// Whether the content has that media type, whatever its parameters.
  package func hasType(_ type: String) -> Bool {
    let given = headers["Content-Type"]?.prefix { $0 != ";" } ?? ""
    return given.trimmingCharacters(in: .whitespaces).lowercased() == type
  }
}
