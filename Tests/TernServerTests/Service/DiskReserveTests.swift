#if Server
import Synchronization
import Tern
import Testing

@testable import TernServer

@Suite("Service: a disk with less free than its reserve")
struct DiskReserveTests {
  private final class Disk: Sendable {
    private let bytes = Mutex(2_000_000)
    var free: Int {
      get { bytes.withLock { $0 } }
      set { bytes.withLock { $0 = newValue } }
    }
  }

  private let folder: TemporaryFolder
  private let store: SQLiteSpaceStore
  private let disk = Disk()
  private let clock = HandClock()
  private let service: SpaceService

  init() throws {
    folder = try TemporaryFolder()
    store = try openStore(folder.path("server.tern"))
    var limits = ServerLimits()
    (limits.diskReserveBytes, limits.trimmedOperations) = (500_000, 3)
    service = SpaceService(
      store: store, clock: clock.clock, limits: limits, disk: ServerDisk { [disk] in disk.free })
  }

  @Test func `nothing new is stored, and pulls go on`() throws {
    var ada = Author(1)
    let (bob, eve) = (ReplicaID(high: 2, low: 2), ReplicaID(high: 3, low: 3))
    _ = try service.push(ada.write(count: 3), to: .home)
    let end = try service.end()
    _ = try service.pull(from: .home, after: nil, excluding: bob)
    let writer = ada
    let next = ada.write()
    disk.free = 400_000
    for body in [
      { _ = try service.push([next], to: .home) },
      { _ = try service.beginSnapshot(SnapshotOffer(at: end, of: [writer]), in: .home) },
      { try service.putSnapshotPart([1], index: 0, of: "x", in: .home) },
      {
        try service.report(
          StateReport(replica: bob, cursor: end, operations: 1, tables: [:]), in: .home)
      },
      // What only what is written can hold back, see the full disk.
      { _ = try service.pull(from: .home, after: nil, excluding: eve) },
    ] as [() throws -> Void] {
      let error = refusal(body)
      #expect(error?.code == .unavailable && error?.retryAfter == nil)
      #expect(error?.message.hasPrefix("diskReserveBytes: ") == true)
    }
    clock.now += 2 * 24 * 3600 * 1000
    #expect(try service.pull(from: .home, after: end, excluding: bob).operations.isEmpty)
    #expect(try service.greet(.home).position == 3)
    disk.free = 500_000 + next.bytes.count
    #expect(try service.push([next], to: .home).accepted == 1)
    disk.free = 400_000
    #expect(refusal { _ = try service.push([ada.write()], to: .home) }?.code == .unavailable)
  }

  @Test func `deletes run, in small steps, and what they leave is room`() throws {
    var (ada, bob) = (Author(1), Author(2))
    _ = try service.push(ada.write(count: 40, bytes: 20_000), to: .home)
    _ = try service.push([bob.write()], to: .work)
    disk.free = 130_000
    #expect(refusal { _ = try service.push([bob.write()], to: .work) } != nil)
    // The first transaction alone: nobody finds the space any more.
    #expect(try store.removeSpace(.home))
    #expect(try store.spaces() == [.work])
    #expect(try !store.removeSpace(.home))
    var steps = 0
    while try service.removeRemains() { steps += 1 }
    #expect(steps > 14)
    try expectHealthy(store)
    bob.sequence -= 1
    #expect(try service.push([bob.write()], to: .work).accepted == 1)
    // But not where the log of what is written has none.
    disk.free = 124_999
    #expect(refusal { _ = try service.push([bob.write()], to: .work) } != nil)
  }

  /// As a process leaves it that is killed.
  @Test func `a removal that was broken off is told, goes on later, and keeps its name free`()
    throws
  {
    var (ada, bob) = (Author(1), Author(2))
    _ = try service.push(ada.write(count: 10), to: .home)
    #expect(try store.removeSpace(.home))
    _ = try service.removeRemains()
    let diagnosis = try store.pool.read { try DatabaseDiagnosis($0, other: ServerDoctor.look) }
    #expect(diagnosis.findings == [])
    #expect(diagnosis.remarks.map(\.check) == ["space-removed"])
    _ = try service.push([bob.write()], to: .home)
    while try service.removeRemains() {}
    #expect(try everything(service).map(\.envelope.replica) == [bob.replica])
    #expect(try service.store.usage(of: .home).operations == 1)
    try expectHealthy(store)
  }
}
#endif
