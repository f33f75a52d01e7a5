#if Server
import Foundation
import GRDB
import Synchronization
import Tern
import TernTesting
import TestDevice
import Testing

/// A clock by which time passes with each look at it, and whose waits are what a test makes of them.
private struct PauseClock: Clock {
  typealias Instant = ContinuousClock.Instant
  let waited: @Sendable () throws -> Void
  var now: Instant { ContinuousClock.now }
  var minimumResolution: Duration { .nanoseconds(1) }

  func sleep(until deadline: Instant, tolerance: Duration?) async throws { try waited() }
}

/// While a merge has the write lock, another process waits for it.
@Suite("Engine: a merge that lets others write", .timeLimit(.minutes(1)))
struct MergeLimitTests {
  private struct Cut: Error {}

  /// A remote with five operations, each of which adds 1 to a counter.
  private func filled() async throws -> MemoryRemote {
    let remote = MemoryRemote()
    let author = try await Device { _ in [remote] }
    try await author.execute("INSERT INTO item VALUES ('1', '', 0)")
    for _ in 1...4 {
      try author.replica.store.seal()
      try await author.execute("UPDATE item SET count = count + 1")
    }
    try await author.syncOnce()
    #expect(remote.operations.count == 5)
    return remote
  }

  private func engine(
    _ device: Device, _ remote: MemoryRemote, limit: Duration,
    _ waited: @escaping @Sendable () throws -> Void
  ) -> SyncEngine {
    var environment = SyncEnvironment(clock: PauseClock(waited: waited))
    environment.mergeLimit = limit
    return SyncEngine(device.replica, remote: remote, environment: environment)
  }

  @Test("INV-05: between groups others write, and the cursor moves behind the last")
  func released() async throws {
    let remote = try await filled()
    let path = FileManager.default.temporaryDirectory.appending(
      path: "tern-merge-limit-\(UUID().uuidString)"
    ).path
    defer { try? FileManager.default.removeItem(atPath: path) }
    let device = try await Device(path: path) { _ in [] }
    let counts = Mutex<[Int]>([])
    let engine = engine(device, remote, limit: .zero) {
      // Another process, which would not wait.
      try DatabaseQueue(path: path).write { db in
        let count = try Int.fetchOne(db, sql: "SELECT count FROM item WHERE id = '1'")
        let number = counts.withLock { counts in
          counts.append(count ?? -1)
          return counts.count
        }
        try db.execute(sql: "INSERT INTO item VALUES ('between \(number)', '', 0)")
      }
      #expect(try device.replica.store.place(at: remote.id)?.cursor == nil)
    }
    try await engine.syncOnce()
    #expect(counts.withLock { $0 } == [0, 1, 2, 3])
    #expect(try await device.column("SELECT count FROM item WHERE id = '1'") == ["4"])
    #expect(try device.replica.store.place(at: remote.id)?.cursor != nil)
    #expect(engine.status.current.pulled == 5)
    // And what was written between is captured.
    try await engine.syncOnce()
    let other = try await Device { _ in [remote] }
    try await other.syncOnce()
    try await other.waitForRows(5)
  }

  @Test("INV-06: a merge that ends between two groups goes on where it was")
  func ended() async throws {
    let remote = try await filled()
    let device = try await Device { _ in [remote] }
    let engine = engine(device, remote, limit: .zero) { throw Cut() }
    await #expect(throws: Cut.self) { try await engine.syncOnce() }
    #expect(try await device.column("SELECT count FROM item") == ["0"])
    #expect(try device.replica.store.place(at: remote.id)?.cursor == nil)
    try await device.syncOnce()
    #expect(try await device.column("SELECT count FROM item") == ["4"])
  }

  @Test("a merge that is soon over is one transaction")
  func whole() async throws {
    let remote = try await filled()
    let device = try await Device { _ in [] }
    let engine = engine(device, remote, limit: .seconds(3600)) { Issue.record("it waited") }
    try await engine.syncOnce()
    #expect(try await device.column("SELECT count FROM item") == ["4"])
  }

  @Test("INV-06: the parts of one group are never apart")
  func grouped() async throws {
    let device = try await Device { _ in [] }
    let start = HybridTime(milliseconds: Int64(Date().timeIntervalSince1970 * 1000) - 1000)
    let later = start.next(atMilliseconds: 0)
    let operations = [(1, start, true), (2, start, false), (3, later, true), (4, later, false)].map
    {
      (number: UInt64, time: HybridTime, continues: Bool) in
      SyncOperation(
        .init(replica: Author.id(7), sequence: number, time: time, continues: continues), body: [])
    }
    let page = PulledPage(
      operations: operations, cursor: RemoteCursor(rawValue: "1"), hasMore: false,
      now: nil)
    let place = RemotePlace(remoteID: "r", epoch: "e", cursor: page.cursor)
    let (summary, merged) = try device.replica.store.merge(page, from: place, until: { true })
    #expect(merged == 2 && summary.mergedOperations == 2)
    #expect(try device.replica.store.place(at: "r") == nil)
  }
}
#endif
