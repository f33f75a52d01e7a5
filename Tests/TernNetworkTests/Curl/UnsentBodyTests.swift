#if os(Linux)
import Foundation
import Testing

@testable import TernNetwork

/// A request of which a part never left was not received, however the exchange ended.
@Suite("Curl: a body that has not left", .timeLimit(.minutes(1)))
struct UnsentBodyTests {
  private let body = HTTPRequest.Body.bytes([UInt8](repeating: 7, count: 32 << 20))

  /// Takes one connection and little of what comes over it.
  ///
  /// - Parameter isCut: whether the connection is reset then, as by a machine that is switched off.
  private func serving(
    isCut: Bool, _ ask: (String) async -> HTTPError?
  ) async throws -> HTTPError? {
    let (listener, port) = try LocalServer.listen(isNarrow: true)
    let thread = Thread {
      let socket = accept(listener, nil, nil)
      var bytes = [UInt8](repeating: 0, count: 1000)
      _ = recv(socket, &bytes, bytes.count, 0)
      guard isCut else { return }
      var atOnce = linger(l_onoff: 1, l_linger: 0)
      setsockopt(socket, SOL_SOCKET, SO_LINGER, &atOnce, socklen_t(MemoryLayout<linger>.size))
      close(socket)
    }
    thread.start()
    defer { close(listener) }
    return await ask("http://127.0.0.1:\(port)/")
  }

  @Test("has not arrived where the connection is lost in its middle")
  func lost() async throws {
    let error = try await serving(isCut: true) { url in
      await CurlTransport().error(of: HTTPRequest(.post, url, body: body))
    }
    #expect(error?.code == .connectionLost)
    #expect(error?.isBodyUnsent == true && error?.mayHaveArrived == false)
    #expect(error?.advice == .interrupted(isLocal: true))
  }

  @Test("has not arrived where it stands still, or the time is over", arguments: [true, false])
  func silent(isIdle: Bool) async throws {
    let error = try await serving(isCut: false) { url in
      var request = HTTPRequest(.post, url, body: body)
      if isIdle { request.idleTimeout = .seconds(1) } else { request.timeout = .seconds(1) }
      return await CurlTransport().error(of: request)
    }
    #expect(error?.code == (isIdle ? .idleTimeout : .timedOut))
    #expect(error?.isBodyUnsent == true && error?.mayHaveArrived == false)
  }

  @Test("may have arrived once it has left, and where there is none")
  func sent() async throws {
    let server = try LocalServer { _ = $0.readRequest() }
    defer { server.stop() }
    for body in [HTTPRequest.Body.bytes([1, 2, 3]), .empty] {
      let error = await CurlTransport().error(of: HTTPRequest(.post, server.url, body: body))
      #expect(error?.code == .connectionLost && error?.isBodyUnsent == false)
      #expect(error?.mayHaveArrived == true)
    }
  }
}
#endif
