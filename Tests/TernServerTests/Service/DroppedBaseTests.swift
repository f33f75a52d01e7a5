#if Server
import TernCore
import TernServer
import Testing

@Suite("Service: a base that an operator drops, on every store")
struct DroppedBaseTests {
  @Test(
    "INV-05: pages pass over its place, and what stood on it is as if it had never come",
    arguments: StoreKind.allCases)
  func passedOver(kind: StoreKind) throws {
    let service = try kind.open().service { $0.pageOperations = 2 }
    var (ada, bob) = (Author(1), Author(2))
    let first = ada
    _ = ada.write(count: 5)
    var kept = bob.write(count: 3)
    _ = try service.push(kept, to: .home)
    let id = try service.upload(SnapshotOffer(at: service.end(), of: [ada, bob], isBase: true))
    let late = bob.write()
    _ = try service.push([ada.write(), late, ada.write()], to: .home)
    kept.append(late)
    let end = try service.end()
    let before = try service.store.usage(of: .home)

    try service.dropSnapshot(id, in: .home)
    try maintain(service)
    let greeting = try service.greet(.home)
    #expect(greeting.heads == VersionVector([bob.replica: 4]))
    #expect((greeting.snapshot, greeting.trimmed, greeting.position) == (nil, 0, 7))
    #expect(try everything(service) == kept)
    // Who is behind it, and who is beyond it, go on.
    #expect(try service.pull(from: .home, after: end).operations == [])
    let usage = try service.store.usage(of: .home)
    #expect(usage.bytes == kept.byteCount && usage.bytes < before.bytes)
    // Of the seven places four have an operation.
    #expect(usage.operations == kept.count && before.operations == 6)
    #expect(
      refusal { try service.dropSnapshot(id, in: .home) }?.code == .snapshotUnknown)

    // Its authors begin anew, and honest snapshots are taken.
    var again = first
    let new = again.write(count: 2)
    #expect(try service.push(new, to: .home).accepted == 2)
    try service.upload(SnapshotOffer("right", at: service.end(), of: [again, bob]))
    #expect(try service.greet(.home).snapshot?.position == 9)
    #expect(try everything(service) == kept + new)
  }

  @Test("its place, and those of what stood on it, are room", arguments: StoreKind.allCases)
  func room(kind: StoreKind) throws {
    let service = try kind.open().service { $0.operationsPerSpace = 10 }
    var (eve, bob) = (Author(1), Author(2))
    _ = eve.write(count: 5)
    let id = try service.upload(SnapshotOffer(at: nil, of: [eve], isBase: true))
    _ = try service.push(eve.write(count: 10), to: .home)
    #expect(refusal { _ = try service.push([bob.write()], to: .home) }?.code == .spaceFull)
    try service.dropSnapshot(id, in: .home)
    var again = Author(2)
    #expect(try service.push(again.write(count: 10), to: .home).accepted == 10)
    #expect(refusal { _ = try service.push([again.write()], to: .home) }?.code == .spaceFull)
  }

  @Test("one of a made-up schema version stops a space no more", arguments: StoreKind.allCases)
  func madeUp(kind: StoreKind) throws {
    let service = try kind.open().service()
    var (eve, bob) = (Author(1), Author(2))
    _ = eve.write()
    let id = try service.upload(
      SnapshotOffer("lie", at: nil, of: [eve], isBase: true, version: 4_000_000_000))
    _ = try service.push([bob.write()], to: .home)
    let honest = SnapshotOffer("b", at: try service.end(), of: [bob, eve], version: 1)
    #expect(service.refusalOf(honest) == .snapshotSuperseded)
    // More of the same kind on top of it, and what hides its own snapshot.
    let second = try service.upload(
      SnapshotOffer("top", at: service.end(), of: [bob, eve], version: 4_000_000_000))
    #expect(refusal { try service.dropSnapshot(id, in: .home) }?.code == .snapshotConflict)
    try service.dropSnapshot(second, in: .home)
    #expect(refusal { _ = try service.pull(from: .home, after: nil) }?.code == .snapshotNeeded)
    // No ban is of what only the base had.
    try service.ban(eve.replica, in: .home)
    try service.dropSnapshot(id, in: .home)
    #expect(try service.store.authorRecord(of: eve.replica, in: .home)?.bannedAfter == 0)
    #expect(try everything(service).map(\.envelope.replica) == [bob.replica])
    try service.upload(SnapshotOffer("c", at: service.end(), of: [bob], version: 1))
    #expect(try service.greet(.home).snapshot != nil)
  }

  @Test(
    "an author goes on from what the space has of it beside the base", arguments: StoreKind.allCases
  )
  func goesOn(kind: StoreKind) throws {
    let test = try kind.open()
    let service = test.service { $0.retention = .zero }
    var ada = Author(1)
    let had = ada.write(count: 2)
    _ = try service.push(had, to: .home)
    let open = ada.write("half", continues: true)
    _ = try service.push([open], to: .home)
    let before = ada
    var lost = ada
    (_, _) = (lost.fragment("rest"), lost.write(count: 2))
    try service.refill(.home)
    let id = try service.upload(SnapshotOffer(at: service.end(), of: [lost], isBase: true))
    _ = try service.push([lost.write()], to: .home)
    _ = try service.restore(.home)
    try service.dropSnapshot(id, in: .home)
    #expect(try service.greet(.home).heads == VersionVector([ada.replica: 3]))
    var again = before
    #expect(try service.push([again.fragment("rest")], to: .home).accepted == 1)
  }

  @Test("what is trimmed needs what stands for it", arguments: StoreKind.allCases)
  func trimmed(kind: StoreKind) throws {
    let service = try kind.open().service { $0.retention = .zero }
    var (ada, bob) = (Author(1), Author(2))
    _ = ada.write(count: 5)
    _ = try service.push(bob.write(count: 3), to: .home)
    let id = try service.upload(SnapshotOffer(at: service.end(), of: [ada, bob], isBase: true))
    try maintain(service)
    #expect(try service.greet(.home).trimmed == 4)
    #expect(refusal { try service.dropSnapshot(id, in: .home) }?.code == .snapshotConflict)
    _ = try service.restore(.home)
    try service.dropSnapshot(id, in: .home)
    #expect(try everything(service).count == 3)
    // And nothing that stood on it comes back.
    #expect(try service.restore(.home).snapshots == [])
  }

  @Test("an older snapshot is then the newest, with its heads", arguments: StoreKind.allCases)
  func older(kind: StoreKind) throws {
    let test = try kind.open()
    let service = test.service {
      ($0.retention, $0.trimmedAge) = (.zero, .zero)
    }
    var (ada, bob) = (Author(1), Author(2))
    _ = try service.push(ada.write(count: 3), to: .home)
    let first = try service.upload(SnapshotOffer("first", at: service.end(), of: [ada]))
    try maintain(service)
    #expect(try service.greet(.home).trimmed == 3)
    let held = ada
    (_, _) = (ada.write(count: 2), bob.write())
    try service.refill(.home)
    let id = try service.upload(
      SnapshotOffer("second", at: service.end(), of: [ada, bob], isBase: true))
    _ = try service.push([ada.write()], to: .home)
    try service.dropSnapshot(id, in: .home)
    try maintain(service)
    let greeting = try service.greet(.home)
    #expect(greeting.snapshot?.id == first && greeting.heads == VersionVector([ada.replica: 3]))
    var again = held
    let next = again.write()
    #expect(try service.push([next], to: .home).accepted == 1)
    #expect(
      try service.pull(from: .home, after: greeting.snapshot?.cursor).operations == [next])
  }
}
#endif
