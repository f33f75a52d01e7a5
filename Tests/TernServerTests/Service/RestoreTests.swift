#if Server
import TernCore
import TernServer
import Testing

@Suite("Service: what was trimmed is brought back, on every store")
struct RestoreTests {
  private static let day: Int64 = 86_400_000

  /// Ten operations of Ada's, of which a snapshot stands for all, and all are trimmed.
  private func trimmed(
    _ kind: StoreKind, _ change: (inout ServerLimits) -> Void = { _ in }
  ) throws -> (StoreUnderTest, SpaceService, Author, [SyncOperation]) {
    let test = try kind.open()
    let service = test.service {
      $0.retention = .zero
      change(&$0)
    }
    var ada = Author(1)
    let operations = ada.write(count: 10, bytes: 100)
    _ = try service.push(operations, to: .home)
    try service.upload(SnapshotOffer("first", at: service.end(), of: [ada]))
    try maintain(service)
    #expect(try service.greet(.home).trimmed == 10)
    return (test, service, ada, operations)
  }

  @Test(
    "INV-12: for seven days it is served again from the beginning, and the snapshot stays",
    arguments: StoreKind.allCases)
  func restored(kind: StoreKind) throws {
    var (test, service, ada, operations) = try trimmed(kind)
    let usage = try service.store.usage(of: .home)
    #expect(usage.keptBytes == operations.byteCount && usage.operations == 0)
    let snapshot = try service.greet(.home).snapshot
    test.clock.now += 7 * Self.day - 1
    try maintain(service)
    let answer = try service.restore(.home)
    #expect((answer.trimmed, answer.operations, answer.snapshots) == (0, 10, []))
    #expect(try everything(service) == operations)
    #expect(try service.greet(.home).snapshot == snapshot)
    let after = try service.store.usage(of: .home)
    #expect((after.keptBytes, after.operations) == (0, 10))
    #expect(after.bytes == usage.bytes + operations.byteCount)

    // It stays so for a while, and a second time changes nothing.
    test.clock.now += 7 * Self.day - 1
    try maintain(service)
    #expect(try service.restore(.home).operations == 0)
    operations.append(ada.write())
    _ = try service.push([operations[10]], to: .home)
    #expect(try everything(service) == operations)
    test.clock.now += 1
    try maintain(service)
    #expect(try service.greet(.home).trimmed == 10)
  }

  @Test(
    "after seven days it is gone, and only what is left comes back", arguments: StoreKind.allCases)
  func gone(kind: StoreKind) throws {
    var (test, service, ada, operations) = try trimmed(kind)
    test.clock.now += 4 * Self.day
    let later = ada.write(count: 3, bytes: 100)
    _ = try service.push(later, to: .home)
    try service.upload(SnapshotOffer("second", at: service.end(), of: [ada]))
    operations += [ada.write()]
    _ = try service.push([operations[10]], to: .home)
    try service.upload(SnapshotOffer("third", at: service.end(), of: [ada]))
    try maintain(service)
    #expect(try service.greet(.home).trimmed == 13)
    test.clock.now += 3 * Self.day
    try maintain(service)
    let kept = try service.store.usage(of: .home).keptBytes
    #expect(kept >= later.byteCount && kept < operations.byteCount)
    let answer = try service.restore(.home)
    #expect((answer.trimmed, answer.operations) == (10, 3))
    // The one that gave way stands for what is gone for good.
    #expect(answer.snapshots.count == 1)
    let old = try #require(try service.snapshots(of: .home).first)
    #expect(old.position == 10)
    #expect(try service.pull(from: .home, after: old.cursor).operations.prefix(3) == later[...])
    #expect(refusal { _ = try service.pull(from: .home, after: nil) }?.code == .snapshotNeeded)
  }

  @Test("what an operator drops is dropped for good", arguments: StoreKind.allCases)
  func dropped(kind: StoreKind) throws {
    var (_, service, ada, _) = try trimmed(kind)
    _ = try service.push([ada.write()], to: .home)
    let wrong = try service.upload(SnapshotOffer("wrong", at: service.end(), of: [ada]))
    try service.dropSnapshot(wrong, in: .home)
    try maintain(service)
    #expect(try service.restore(.home).snapshots == [])
    #expect(try service.snapshots(of: .home).map(\.position) == [10])
  }

  @Test("of the snapshots that gave way a few stay", arguments: StoreKind.allCases)
  func few(kind: StoreKind) throws {
    var (_, service, ada, _) = try trimmed(kind) { $0.droppedSnapshots = 2 }
    var ids: [String] = []
    for round in 0..<5 {
      _ = try service.push([ada.write()], to: .home)
      ids.append(try service.upload(SnapshotOffer("k\(round)", at: service.end(), of: [ada])))
    }
    try maintain(service)
    // Two are kept as they are.
    #expect(Set(try service.restore(.home).snapshots) == Set(ids[1...2]))
    for id in ids[1...] { #expect(try !service.snapshotPart(0, of: id, in: .home).isEmpty) }
    #expect(
      refusal { _ = try service.snapshotPart(0, of: ids[0], in: .home) }?.code == .snapshotUnknown)
  }

  @Test("INV-05: a base stays one over which nobody pulls", arguments: StoreKind.allCases)
  func base(kind: StoreKind) throws {
    let test = try kind.open()
    let service = test.service { $0.retention = .zero }
    var (ada, bob) = (Author(1), Author(2))
    _ = ada.write(count: 3)
    let before = bob.write(count: 2)
    _ = try service.push(before, to: .home)
    try service.upload(SnapshotOffer(at: service.end(), of: [ada, bob], isBase: true))
    try maintain(service)
    #expect(try service.greet(.home).trimmed == 3)
    #expect(try service.restore(.home).trimmed == 0)
    let page = try service.pull(from: .home, after: nil)
    #expect(page.operations == before && page.hasMore)
    #expect(
      refusal { _ = try service.pull(from: .home, after: page.cursor) }?.code == .snapshotNeeded)
  }

  @Test("it is counted and removed in short transactions", arguments: StoreKind.allCases)
  func steps(kind: StoreKind) throws {
    let (test, service, _, _) = try trimmed(kind) { $0.trimmedOperations = 3 }
    #expect(try service.store.usage(of: .home).operations == 0)
    test.clock.now += 8 * Self.day
    #expect(try maintain(service) == 4)
    #expect(try service.store.usage(of: .home).keptBytes == 0)
    #expect(try service.restore(.home).operations == 0)
  }

  @Test("it goes first when the disk is short", arguments: StoreKind.allCases)
  func short(kind: StoreKind) throws {
    let (test, first, _, operations) = try trimmed(kind)
    var limits = first.limits
    (limits.diskReserveBytes, limits.trimmedOperations) = (400, 4)
    // What is given up is room.
    let service = SpaceService(
      store: test.store, clock: first.clock, limits: limits,
      disk: ServerDisk { 1_000 - ((try? test.store.usage(of: .home).keptBytes) ?? 0) })
    var bob = Author(2)
    #expect(try service.push([bob.write()], to: .work).accepted == 1)
    #expect(try service.store.usage(of: .home).keptBytes < operations.byteCount)
    #expect(try service.restore(.home).trimmed >= 4)
    #expect(try service.greet(.home).snapshot != nil)
  }

  @Test("it does not go over the quota unless an operator says so", arguments: StoreKind.allCases)
  func quota(kind: StoreKind) throws {
    let (_, service, _, operations) = try trimmed(kind)
    let usage = try service.store.usage(of: .home)
    for quota in [SpaceQuota(bytes: usage.bytes + 1), SpaceQuota(operations: 9)] {
      try service.setQuota(quota, of: .home)
      let error = refusal { _ = try service.restore(.home) }
      #expect(error?.code == .spaceFull && error?.message.contains("--over-quota") == true)
      #expect(try service.greet(.home).trimmed == 10)
      #expect(try service.store.usage(of: .home).keptBytes == usage.keptBytes)
    }
    let answer = try service.restore(.home, overQuota: true)
    #expect((answer.operations, answer.bytes) == (10, usage.bytes + operations.byteCount))
    // Asking again changes nothing, so it needs no room.
    #expect(try service.restore(.home).operations == 0)
  }

  @Test("what banned authors wrote, and bases, need no room", arguments: StoreKind.allCases)
  func uncounted(kind: StoreKind) throws {
    var (_, service, ada, _) = try trimmed(kind)
    var (eve, bob) = (Author(2), Author(3))
    _ = try service.push(eve.write(count: 20, bytes: 100), to: .home)
    _ = bob.write()
    try service.refill(.home)
    try service.upload(
      SnapshotOffer("second", at: service.end(), of: [ada, eve, bob], isBase: true))
    _ = try service.push([ada.write()], to: .home)
    try service.upload(SnapshotOffer("third", at: service.end(), of: [ada, eve, bob]))
    // One more, so that the first and its trimmed log are behind it.
    _ = try service.push([ada.write()], to: .home)
    try service.upload(SnapshotOffer("fourth", at: service.end(), of: [ada, eve, bob]))
    try maintain(service)
    #expect(try service.greet(.home).trimmed == 32)
    try service.ban(eve.replica, in: .home)
    try service.setQuota(SpaceQuota(operations: 11), of: .home)
    #expect(refusal { _ = try service.restore(.home) }?.message.contains(" 12 operations") == true)
    try service.setQuota(SpaceQuota(operations: 12), of: .home)
    let answer = try service.restore(.home)
    let usage = try service.store.usage(of: .home)
    #expect((answer.trimmed, answer.operations) == (0, 32))
    #expect((usage.counted.operations, usage.counted.bytes) == (12, answer.bytes))
    #expect(usage.banned.operations == 20)
  }

  @Test("an operator ends it, and it can be done again", arguments: StoreKind.allCases)
  func ended(kind: StoreKind) throws {
    let (_, service, _, operations) = try trimmed(kind)
    for _ in 0..<2 {
      #expect(try service.restore(.home).operations == 10)
      try maintain(service)
      #expect(try everything(service) == operations)
      try service.endRestore(.home)
      try maintain(service)
      #expect(try service.greet(.home).trimmed == 10)
    }
    #expect(refusal { try service.endRestore(.work) }?.code == .notFound)
  }

  @Test("a space that is not there is not made", arguments: StoreKind.allCases)
  func absent(kind: StoreKind) throws {
    let service = try kind.open().service()
    #expect(refusal { _ = try service.restore(.work) }?.code == .notFound)
    #expect(try service.store.spaces().isEmpty)
  }
}
#endif
