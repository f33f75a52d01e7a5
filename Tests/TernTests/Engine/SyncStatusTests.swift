import Foundation
import Observation
import Synchronization
import Tern
import TernTesting
import Testing

@Suite("Engine: the status of an engine", .timeLimit(.minutes(1)))
struct SyncStatusTests {
  @Test func `who looks again as it is told of a change sees the new moment`() {
    let status = SyncStatus()
    let seen = Mutex<[Int]>([])
    @Sendable func look() {
      let unpushed = withObservationTracking {
        status.current.unpushed
      } onChange: {
        look()
      }
      seen.withLock { $0.append(unpushed) }
    }
    look()
    status.update { $0.unpushed = 1 }
    status.update { _ in }
    status.update { $0.unpushed = 2 }
    #expect(seen.withLock { $0 } == [0, 1, 2])
  }

  @Test func `the updates end with the engine`() async throws {
    var device: LibraryDevice? = try await LibraryDevice(MemoryRemote())
    try await device?.engine.syncOnce()
    let updates = try #require(device).engine.status.updates
    device = nil
    var phases: [SyncStatus.Moment.Phase] = []
    for await moment in updates { phases.append(moment.phase) }
    #expect(phases == [.upToDate])
  }

  @Test func `when both sides last had the same is told, also while nobody answers`() async throws {
    let isOffline = Mutex(false)
    let now = Mutex(Duration.seconds(1_000))
    let remote = ScriptedRemote("moody") {
      $0.onGreet = { state in
        if isOffline.withLock({ $0 }) { throw RemoteError(.unreachable, "nobody is there") }
        return RemoteGreeting(
          epoch: state.epoch, now: state.now, position: state.position,
          heads: state.heads)
      }
    }
    let device = try await LibraryDevice(MemoryRemote())
    let engine = SyncEngine(
      device.replica, remote: remote,
      environment: SyncEnvironment(wallClock: { now.withLock { $0 } }))
    #expect(engine.status.current.lastUpToDate == nil)
    try await engine.syncOnce()
    let first = Date(timeIntervalSince1970: 1_000)
    #expect(engine.status.current.lastUpToDate == first)
    now.withLock { $0 = .seconds(2_000) }
    isOffline.withLock { $0 = true }
    await #expect(throws: RemoteError.self) { try await engine.syncOnce() }
    #expect(engine.status.current.lastUpToDate == first)
    isOffline.withLock { $0 = false }
    try await engine.syncOnce()
    #expect(engine.status.current.lastUpToDate == Date(timeIntervalSince1970: 2_000))
  }
}
