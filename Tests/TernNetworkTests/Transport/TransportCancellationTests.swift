#if os(Linux)
import Testing

@testable import TernNetwork

@Suite("Transport: cancelling ends one exchange and no other", .timeLimit(.minutes(1)))
struct TransportCancellationTests {
  @Test(
    "a task cancelled while it waits for the head ends at once, and the server sees it",
    arguments: TransportKind.allCases)
  func waiting(_ kind: TransportKind) async throws {
    let transport = try kind.make()
    let arrived = Signal()
    let ended = Signal()
    let server = try LocalServer { connection in
      guard let request = connection.readRequest() else { return }
      if request.line.contains("/next") {
        connection.answer(body: [1])
        return
      }
      arrived.fire()
      connection.waitForEnd()
      ended.fire()
    }
    defer { server.stop() }
    let task = Task { try await transport.send(HTTPRequest(.get, server.url)) }
    await arrived.wait()
    task.cancel()
    #expect(await failure(CancellationError.self) { _ = try await task.value } != nil)
    await ended.wait()
    let next = try await transport.send(HTTPRequest(.get, server.url + "/next"))
    #expect(try await next.collect(limit: 1) == [1])
  }

  @Test("a task cancelled before it sends sends nothing", arguments: TransportKind.allCases)
  func before(_ kind: TransportKind) async throws {
    let transport = try kind.make()
    let server = try LocalServer { _ in }
    defer { server.stop() }
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      _ = try await transport.send(HTTPRequest(.get, server.url))
    }
    #expect(await failure(CancellationError.self) { _ = try await task.value } != nil)
    #expect(server.connectionCount == 0)
  }

  @Test("a task cancelled in the middle of a body ends with it", arguments: TransportKind.allCases)
  func midBody(_ kind: TransportKind) async throws {
    let transport = try kind.make()
    let ended = Signal()
    let server = try LocalServer.half { ended.fire() }
    defer { server.stop() }
    let response = try await transport.send(HTTPRequest(.get, server.url))
    let gotBytes = Signal()
    let task = Task {
      for try await _ in response.body { gotBytes.fire() }
    }
    await gotBytes.wait()
    task.cancel()
    #expect(await failure(CancellationError.self) { try await task.value } != nil)
    await ended.wait()
  }

  @Test(
    "a task cancelled between two chunks ends its exchange, though the response is still held",
    arguments: TransportKind.allCases)
  func betweenChunks(_ kind: TransportKind) async throws {
    let transport = try kind.make()
    let ended = Signal()
    let server = try LocalServer.half { ended.fire() }
    defer { server.stop() }
    let response = try await transport.send(HTTPRequest(.get, server.url))
    let task = Task {
      for try await _ in response.body { withUnsafeCurrentTask { $0?.cancel() } }
    }
    #expect(await failure(CancellationError.self) { try await task.value } != nil)
    await ended.wait()
    withExtendedLifetime(response) {}
  }

  @Test(
    "releasing a response without reading it ends its exchange", arguments: TransportKind.allCases)
  func released(_ kind: TransportKind) async throws {
    let transport = try kind.make()
    let ended = Signal()
    let server = try LocalServer.half { ended.fire() }
    defer { server.stop() }
    #expect(try await transport.send(HTTPRequest(.get, server.url)).status == 200)
    await ended.wait()
  }

  @Test(
    "cancelling an exchange that is over leaves the next one on its connection alone",
    arguments: TransportKind.allCases)
  func late(_ kind: TransportKind) async throws {
    let transport = try kind.make()
    let server = try LocalServer.echo()
    defer { server.stop() }
    var previous: HTTPResponse?
    for number in 0..<200 {
      let bytes = Array("request \(number)".utf8)
      let request = HTTPRequest(.post, server.url, body: .bytes(bytes))
      let response = try await transport.send(request)
      // The release of the one before is the late cancellation, while this one's body arrives.
      previous = nil
      #expect(try await response.collect(limit: 100) == bytes)
      previous = response
    }
    _ = previous
    if kind.isLibcurl { #expect(server.connectionCount == 1) }
  }

  @Test(
    "half of 200 exchanges cancelled at any moment leave the other half whole",
    arguments: TransportKind.allCases)
  func storm(_ kind: TransportKind) async throws {
    let transport = try kind.make()
    let server = try LocalServer.echo()
    defer { server.stop() }
    let all = noise(200_000)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<200 {
        let bytes = Array(all.prefix(1000 * number))
        let request = HTTPRequest(.post, server.url, body: .bytes(bytes))
        let task = Task { try await transport.send(request).collect(limit: bytes.count) }
        if number.isMultiple(of: 2) {
          group.addTask {
            await Task.yield()
            task.cancel()
          }
        } else {
          group.addTask {
            let answer = try await task.value
            #expect(answer == bytes)
          }
        }
      }
      try await group.waitForAll()
    }
  }
}
#endif
