#if Server
import TernCore
import Testing

@testable import TernServer

@Suite("Maintenance while serving", .timeLimit(.minutes(1)))
struct MaintenanceTests {
  @Test("a space where it fails keeps it from no other")
  func failing() async throws {
    var generator = SeededGenerator(state: 2)
    let store = FailingStore(MemorySpaceStore(using: &generator))
    let broken = try SpaceName("broken")
    try await LiveServer.run(maintenance: .milliseconds(10), store: store) { server async throws in
      _ = try server.service.createToken(for: broken, using: &generator)
      store.fail([.update(broken)])
      // The time limit of the suite ends this if it never comes to the other.
      while !store.hasSeen(.update(.home)) { await Task.yield() }
      while !store.hasSeen(.update(broken)) { await Task.yield() }
    }
  }
}
#endif
