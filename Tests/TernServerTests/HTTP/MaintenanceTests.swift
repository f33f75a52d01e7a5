#if Server
import TernCore
import Testing

@testable import TernServer

@Suite("HTTP: maintenance while serving", .timeLimit(.minutes(1)))
struct MaintenanceTests {
  @Test("a space where it fails keeps it from no other")
  func failing() async throws {
    var generator = SeededGenerator(state: 2)
    let store = FailingStore(MemorySpaceStore(using: &generator))
    let broken = try SpaceName("broken")
    try await LiveServer.run(maintenance: .milliseconds(10), store: store) { server async throws in
      _ = try server.service.createToken(for: broken, using: &generator)
      // Twice, since a round may be under way; the time limit of the suite ends what never comes.
      for _ in 1...2 {
        store.fail([.update(broken)])
        while !store.hasSeen(.update(broken)) { await Task.yield() }
        while !store.hasSeen(.update(.home)) { await Task.yield() }
      }
      #expect(try Set(server.service.store.spaces()) == [broken, .home])
    }
  }

  @Test("leases of a space that another process removed are forgotten")
  func removed() async throws {
    var (generator, ada) = (SeededGenerator(state: 2), Author(1))
    let store = MemorySpaceStore(using: &generator)
    try await LiveServer.run(maintenance: .milliseconds(10), store: store) { server async throws in
      let bob = ReplicaID(high: 2, low: 2)
      _ = try server.service.push([ada.write()], to: .home)
      // The first is written down, the second noted.
      for _ in 0..<2 { _ = try server.service.pull(from: .home, after: nil, excluding: bob) }
      _ = store.removeSpace(.home)
      while !server.service.leases.waiting(in: .home).isEmpty { await Task.yield() }
      #expect(store.spaces().isEmpty)
    }
  }
}
#endif
