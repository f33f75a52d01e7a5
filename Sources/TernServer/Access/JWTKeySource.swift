#if JWTs
import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Where a JSON Web Key Set is, and how often it is read.
public struct JWTKeySource: Sendable {
  /// The set's bytes.
  let read: @Sendable () async throws -> [UInt8]
  /// After so long it is read again.
  var refresh: Duration
  /// So long it is not, whatever tokens come.
  var pause: Duration
  /// So long keys are used that can't be read again.
  var lifetime = Duration.seconds(86_400)

  private static let mostBytes = 1 << 20

  /// - Parameter read: the set's bytes. It must not block.
  init(refresh: Duration, pause: Duration, read: @escaping @Sendable () async throws -> [UInt8]) {
    (self.refresh, self.pause, self.read) = (refresh, pause, read)
  }

  /// A file, which is read again every five seconds while tokens come.
  public static func file(_ path: String) -> JWTKeySource {
    let queue = StoreQueue(waitingPerSpace: 0)
    return JWTKeySource(refresh: .seconds(5), pause: .seconds(5)) {
      try await queue.read {
        guard let data = FileManager.default.contents(atPath: path), data.count <= mostBytes else {
          throw JWTKeyError("\(path) can't be read, or has more than \(mostBytes) bytes")
        }
        return Array(data)
      }
    }
  }

  /// A URL, which is read again every five minutes while tokens come, and where one names a key
  /// that isn't there, at most twice a minute. It has to be `https`, but for this machine's own,
  /// and is not followed elsewhere.
  ///
  /// - Throws: ``JWTKeyError`` for another URL.
  public static func url(_ url: URL) throws -> JWTKeySource {
    let isLocal = ["127.0.0.1", "::1", "localhost"].contains(url.host() ?? "")
    guard url.scheme == "https" || (url.scheme == "http" && isLocal) else {
      throw JWTKeyError("\(url) is no https URL; whoever can change what it says lets everybody in")
    }
    return JWTKeySource(refresh: .seconds(300), pause: .seconds(30)) {
      let configuration = URLSessionConfiguration.ephemeral
      configuration.timeoutIntervalForRequest = 10
      configuration.timeoutIntervalForResource = 20
      let session = URLSession(
        configuration: configuration, delegate: Staying(), delegateQueue: nil)
      defer { session.finishTasksAndInvalidate() }
      let (data, response) = try await session.data(from: url)
      let status = (response as? HTTPURLResponse)?.statusCode ?? 0
      guard status == 200, data.count <= mostBytes else {
        throw JWTKeyError("\(url) answered \(status) and \(data.count) bytes")
      }
      return Array(data)
    }
  }

  /// Follows no redirection.
  private final class Staying: NSObject, URLSessionTaskDelegate, Sendable {
    func urlSession(
      _ session: URLSession, task: URLSessionTask,
      willPerformHTTPRedirection response: HTTPURLResponse, newRequest request: URLRequest,
      completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
      completionHandler(nil)
    }
  }
}
#endif
