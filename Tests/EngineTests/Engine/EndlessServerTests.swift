#if Server && os(Linux)
import Foundation
import Tern
import TestDevice
import Testing

/// A server that has more and more to give, and nothing, over a real socket.
@Suite("Engine: servers that answer without end", .timeLimit(.minutes(2)))
struct EndlessServerTests {
  @Test func `empty pages without end are an error by name, and the next sync begins normally`()
    async throws
  {
    let server = try EndlessServer()
    defer { server.stop() }
    let device = try await Device { _ in [try Server.remote(port: server.port, token: "t")] }
    try await device.execute("INSERT INTO item VALUES ('1', 'mine', 1)")
    let error = await #expect(throws: RemoteError.self) { try await device.syncOnce() }
    #expect(error?.code == .unexpectedAnswer)
    #expect(error?.message.contains("127.0.0.1:\(server.port)") == true)
    let pulls = server.pulls
    #expect((1000...1100).contains(pulls))
    server.end()
    try await device.syncOnce()
    #expect(server.pulls == pulls + 1)
    #expect(device.engine.status.current.phase == .upToDate)
    #expect(try await device.column("SELECT text FROM item") == ["mine"])
  }
}
#endif
