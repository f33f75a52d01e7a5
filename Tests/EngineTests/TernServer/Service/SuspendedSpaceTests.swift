#if Server
import Foundation
import Tern
import TernServer
import TernTesting
import TestDevice
import Testing

/// Devices of a space that an operator made read-only, over real sockets.
@Suite("Service: devices of a suspended space", .timeLimit(.minutes(1)))
struct SuspendedSpaceTests {
  @Test func `what was written waits by name, pulls go on, and nothing is lost`() async throws {
    try await Server.run(Server.memoryStore(seed: 1)) { server in
      let space = try SpaceName(Server.space)
      let (a, b) = (try await Device(server.port), try await Device(server.port))
      try await b.execute("INSERT INTO item VALUES ('b', 'from b', 1)")
      try await b.engine.syncOnce()
      try server.service.asOperator.suspend(space)

      try await a.execute("INSERT INTO item VALUES ('a', 'from a', 1)")
      let error = await #expect(throws: RemoteError.self) { try await a.engine.syncOnce() }
      #expect(error?.code == .spaceSuspended)
      try await a.waitForRows(2)
      let status = a.engine.status.current
      #expect(status.lastError?.code == .spaceSuspended)
      #expect(status.unpushed == 1 && status.pulled == 1)

      try server.service.asOperator.resume(space)
      for phone in [a, b] { try await phone.engine.syncOnce() }
      try await b.waitForRows(2)
      #expect(a.engine.status.current.unpushed == 0)
      #expect(a.engine.status.current.lastError == nil)
      #expect(try a.replica.store.canonicalState() == b.replica.store.canonicalState())
    }
  }
}
#endif
