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
      _ = try store.removeSpace(.home)
      while !server.service.leases.waiting(in: .home).isEmpty { await Task.yield() }
      #expect(store.spaces().isEmpty)
    }
  }

  private func maintenance(of service: SpaceService, _ log: RecordedLog) -> Maintenance {
    Maintenance(
      service: service, queue: StoreQueue(waitingPerSpace: 10), interval: .milliseconds(1),
      metrics: ServerMetrics(), logger: log.logger)
  }

  @Test("a disk without room is told of before removing fails on it")
  func shortage() async throws {
    var generator = SeededGenerator(state: 2)
    let store = FailingStore(MemorySpaceStore(using: &generator))
    store.fail([.removeRemains])
    let (service, log) = (
      SpaceService(store: store, clock: HandClock().clock, disk: ServerDisk { 0 }), RecordedLog()
    )
    let task = Task { await maintenance(of: service, log).run() }
    while log.messages.count < 2 { await Task.yield() }
    task.cancel()
    await task.value
    #expect(log.messages.prefix(2) == ["nothing new is stored", "maintenance failed"])
  }

  @Test("a server that ends meanwhile calls it no failure")
  func ending() async throws {
    var generator = SeededGenerator(state: 2)
    let gate = Gate()
    let store = FailingStore(MemorySpaceStore(using: &generator)) { gate.pass($0) }
    let (service, log) = (SpaceService(store: store, clock: HandClock().clock), RecordedLog())
    _ = try service.createToken(for: .home, using: &generator)
    gate.close()
    let task = Task { await maintenance(of: service, log).run() }
    while gate.spaces.isEmpty { await Task.yield() }
    task.cancel()
    gate.open()
    await task.value
    #expect(log.messages == [])
  }
}
#endif
