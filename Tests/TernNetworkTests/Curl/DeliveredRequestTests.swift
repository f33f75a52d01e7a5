#if os(Linux)
import Synchronization
import Testing

@testable import TernNetwork

/// libcurl sends a request once more where a kept connection ends without an answer.
@Suite("Curl: a request that was delivered once", .timeLimit(.minutes(1)))
struct DeliveredRequestTests {
  private let transport = CurlTransport()

  /// Answers the first request of all, and takes the second one without a word.
  ///
  /// - Parameter last: what happens before the connection that the second one came over ends.
  private func serving(_ last: @escaping @Sendable () -> Void) throws -> LocalServer {
    let count = Mutex(0)
    return try LocalServer { connection in
      while connection.readRequest() != nil {
        let count = count.withLock { count in
          count += 1
          return count
        }
        if count == 2 { return last() }
        connection.answer(body: [1])
      }
    }
  }

  /// Sends it twice; the first is answered.
  private func errorOfSecond(_ request: HTTPRequest) async throws -> HTTPError? {
    _ = try await transport.send(request).collect(limit: 1)
    return await transport.error(of: request)
  }

  @Test(
    "counts as lost when nobody is there for the second attempt",
    arguments: [
      (HTTPRequest.Method.post, HTTPRequest.Body.bytes([1, 2, 3]), false),
      (.post, .bytes([1, 2, 3]), true), (.delete, .empty, true), (.put, .bytes([]), true),
    ])
  func gone(method: HTTPRequest.Method, body: HTTPRequest.Body, isRepeatable: Bool) async throws {
    let running = Mutex<LocalServer?>(nil)
    // From here on the port refuses.
    let server = try serving { running.withLock { $0 }?.stop() }
    running.withLock { $0 = server }
    defer { server.stop() }
    var request = HTTPRequest(method, server.url, body: body)
    request.isRepeatable = isRepeatable
    let error = try await errorOfSecond(request)
    #expect(error?.code == .connectionLost)
    #expect(error?.mayHaveArrived == true)
    #expect(error?.advice == .interrupted(isLocal: true))
    // Nothing of the third is ever sent.
    #expect(await transport.error(of: request)?.code == .connectionRefused)
  }

  @Test("may have arrived when its file changes before it is sent again")
  func changed() async throws {
    let file = try TemporaryFile(noise(1000))
    let server = try serving {
      try? file.overwrite(at: 0, with: [1, 2, 3])
    }
    defer { server.stop() }
    let request = HTTPRequest(
      .put, server.url, body: .segments([.file(FileSegment(file.path))]), timeout: .seconds(20))
    let error = try await errorOfSecond(request)
    #expect(error?.code == .connectionLost)
    #expect(error?.mayHaveArrived == true)
  }

  @Test("may not have arrived when its file changes before all of it was sent")
  func changedEarly() async throws {
    let file = try TemporaryFile()
    try file.truncate(to: 64 << 20)
    let requestCount = Mutex(0)
    let server = try LocalServer { connection in
      while let request = connection.readHead() {
        let count = requestCount.withLock { count in
          count += 1
          return count
        }
        if count > 1 {
          _ = connection.read(100_000)
          if count == 2 { try? file.overwrite(at: 0, with: [1, 2, 3]) }
          return
        }
        _ = connection.read(upTo: request.byteCount) { _ in }
        connection.answer(body: [1])
      }
    }
    defer { server.stop() }
    let request = HTTPRequest(
      .put, server.url, body: .segments([.file(FileSegment(file.path))]), timeout: .seconds(20))
    let error = try await errorOfSecond(request)
    #expect(error?.code == .fileChanged)
    #expect(error?.mayHaveArrived == false)
  }
}
#endif
