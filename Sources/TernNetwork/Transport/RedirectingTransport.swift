import Foundation
import TernCore

/// A transport that follows redirects, and takes no credentials to another origin.
///
/// ```swift
/// let photos = HTTPService(url, over: RedirectingTransport(over: SystemTransport.shared))
/// ```
///
/// - `GET` and `HEAD` without a body are followed wherever they lead, but not from `https` to
///   `http`. To another origin go only fields that never hold credentials, and no others from there
///   on, even on the way back: `Accept`, `Accept-Encoding`, `Accept-Language`, `Cache-Control`,
///   `Content-Type`, `Last-Event-ID`, `Range` and `User-Agent`.
/// - Every other request is followed within its origin only, and only where the server wants the
///   same one there: 307 and 308. Who answers it with another status may have done what
///   it asks for.
/// - ``HTTPRequest/timeout`` is for all requests together, ``HTTPRequest/idleTimeout`` and
///   ``HTTPRequest/connectTimeout`` for each.
///
/// A redirect that is not followed is the answer: ``HTTPProblem`` with its status,
/// from an ``HTTPService``.
///
/// - Source: RFC 9110, section 15.4.
public struct RedirectingTransport: HTTPTransport {
  private let base: any HTTPTransport
  private let limit: Int
  private let now: @Sendable () -> ContinuousClock.Instant

  /// - Parameter limit: how many redirects one request is led through; the next one is the answer.
  public init(over base: any HTTPTransport, limit: Int = 10) {
    self.init(over: base, limit: limit, now: { .now })
  }

  package init(
    over base: any HTTPTransport, limit: Int,
    now: @escaping @Sendable () -> ContinuousClock.Instant
  ) {
    (self.base, self.limit, self.now) = (base, limit, now)
  }

  public func send(_ request: HTTPRequest) async throws -> HTTPResponse {
    let (begin, whole) = (now(), request.timeout)
    var request = request
    for _ in 0..<limit {
      let answer = try await base.send(request)
      guard let next = request.redirected(by: answer) else { return answer }
      request = next
      if let whole {
        let rest = whole - (now() - begin)
        guard rest > .zero else {
          throw HTTPError(
            .timedOut, origin: try HTTPOrigin(of: request.url),
            "led here, and not done within \(whole)")
        }
        request.timeout = rest
      }
    }
    return try await base.send(request)
  }

  public func shutdown() async {
    await base.shutdown()
  }
}

extension HTTPRequest {
  /// What is sent next, `nil` where the answer is not to be followed.
  fileprivate func redirected(by answer: HTTPResponse) -> HTTPRequest? {
    let isReading = method == .get || method == .head
    switch answer.status {
    case 301, 302, 303: guard isReading else { return nil }
    case 307, 308: break
    default: return nil
    }
    let locations = answer.headers.values("Location")
    // Of more than one, it would be chance who is asked.
    guard locations.count == 1, let from = try? HTTPOrigin(of: url),
      let target = URL(string: locations[0], relativeTo: URL(string: url))?.absoluteString,
      // What can't be asked, as one with credentials in it, is not followed.
      let to = try? HTTPOrigin(of: target)
    else { return nil }
    var next = self
    // What stands behind “#” is for the reader of the answer.
    next.url = String(target.prefix { $0 != "#" })
    guard to != from else {
      if Planted.isActive(.redirectDropsKey) { next.headers["Idempotency-Key"] = nil }
      return next
    }
    guard isReading, body == .empty, from.scheme == "http" || to.scheme == "https"
    else { return nil }
    next.headers = HTTPHeaders(
      headers.fields.filter { Self.portable.contains($0.name.lowercased()) })
    return next
  }

  /// With those that say which part of what is asked for is wanted.
  private static let portable = harmless.union(["last-event-id", "range"])
}
