#if Server && Rehearsal
import Synchronization
@_spi(Rehearsal) import TernCore
import TernServer
import Testing

/// A server that dies while it keeps or trims, and is started again.
@Suite("Service: deaths of a server that keeps snapshots, on every store")
struct KeepingCrashTests {
  private struct Death: Error {}

  @Test(
    "whoever tries again finds the snapshot, and nothing is trimmed that none stands for",
    arguments: StoreKind.allCases, CrashPoint.ofServerKeeping)
  func dies(kind: StoreKind, point: CrashPoint) throws {
    let test = try kind.open()
    func service() -> SpaceService { test.service { $0.retention = .zero } }
    var ada = Author(1)
    let operations = ada.write(count: 4)
    _ = try service().push(operations, to: .home)
    let offer = SnapshotOffer(at: try service().end(), of: [ada])
    let id = try service().beginSnapshot(offer, in: .home).id
    let parts = try offer.partsWithoutRows()
    for (index, part) in parts.enumerated() {
      try service().putSnapshotPart(part, index: index, of: id, in: .home)
    }

    let reached = Mutex(0)
    let handler: CrashPoint.Handler = { reachedPoint in
      guard reachedPoint == point else { return }
      reached.withLock { $0 += 1 }
      throw Death()
    }
    func complete() throws { try service().completeSnapshot(id, in: .home) }
    #expect(throws: Death.self) { try CrashPoint.with(handler, complete) }
    #expect(reached.withLock { $0 } == 1)
    let left = try service().greet(.home)
    #expect((left.snapshot != nil) == (point != .serverBeforeSnapshot))
    #expect(left.trimmed == 0)
    #expect(try everything(service()) == operations)

    #expect(try service().beginSnapshot(offer, in: .home) == SnapshotUpload(id: id, missing: []))
    try service().completeSnapshot(id, in: .home)
    try maintain(service())
    #expect(try service().greet(.home).trimmed == 4)
    #expect(try service().snapshotPart(0, of: id, in: .home) == parts[0])
    #expect(try service().push(operations, to: .home).accepted == 0)
  }
}
#endif
