import Synchronization
import TernNetwork

/// Bytes that no mistake in order or length leaves the same.
func noise(_ count: Int) -> [UInt8] {
  var state: UInt64 = 0x9E37_79B9_7F4A_7C15
  return (0..<count).map { _ in
    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    return UInt8(truncatingIfNeeded: state >> 56)
  }
}

/// The error of type `E` that `work` throws, `nil` when it returns or throws another.
func failure<E: Error>(
  _ type: E.Type = E.self, of work: () async throws -> Void
) async -> E? {
  do {
    try await work()
    return nil
  } catch {
    return error as? E
  }
}

extension HTTPTransport {
  /// Why a request gets no answer, or one of which not so many bytes can be read; `nil` where it does.
  ///
  /// - Parameter limit: `nil` to read nothing.
  func error(of request: HTTPRequest, reading limit: Int? = nil) async -> HTTPError? {
    await failure {
      let response = try await send(request)
      if let limit { _ = try await response.collect(limit: limit) }
    }
  }
}

/// The chunks of a body, one after the other.
final class Pieces: Sendable {
  private let rest: Mutex<[[UInt8]]>

  init(_ pieces: [[UInt8]]) {
    rest = Mutex(pieces.reversed())
  }

  func next() -> [UInt8]? { rest.withLock { $0.popLast() } }
}
