#if Server
import TernCore
import TernServer
import Testing

@Suite("Service: a snapshot as a space's base, on every store")
struct BaseTests {
  @Test(
    "an empty space begins with it, and pushes go on after its heads", arguments: StoreKind.allCases
  )
  func empty(kind: StoreKind) throws {
    let test = try kind.open()
    let service = test.service()
    var (ada, bob) = (Author(1), Author(2))
    let lost = ada.write(count: 5) + bob.write(count: 2)
    let id = try service.upload(SnapshotOffer(at: nil, of: [ada, bob], isBase: true))
    let greeting = try service.greet(.home)
    let heads = VersionVector([ada.replica: 5, bob.replica: 2])
    #expect(greeting.heads == heads)
    #expect(greeting.snapshot?.heads == heads)
    #expect(greeting.snapshot?.id == id)
    #expect((greeting.position, greeting.trimmed) == (1, 0))
    #expect(refusal { _ = try service.pull(from: .home, after: nil) }?.code == .snapshotNeeded)

    let cursor = try #require(greeting.snapshot?.cursor)
    #expect(try service.pull(from: .home, after: cursor).operations.isEmpty)
    let next = ada.write("next")
    #expect(try service.push([next], to: .home).position == 2)
    #expect(try service.pull(from: .home, after: cursor).operations == [next])
    // Nobody can say any more whether these are the same, so nobody is taken for a copy.
    let below = refusal { _ = try service.push([lost[4]], to: .home) }
    #expect(below?.code == .sequenceGap)
    var late = Author(2, milliseconds: 0)
    late.sequence = 2
    #expect(
      refusal { _ = try service.push([late.write()], to: .home) }?.code == .timeNotIncreasing)
    // And an ordinary snapshot follows.
    try service.upload(SnapshotOffer("next", at: service.end(), of: [ada, bob]))
    #expect(try service.greet(.home).snapshot?.position == 2)
    #expect(
      service.refusalOf(SnapshotOffer("x", at: try service.end(), of: [ada]))
        == .snapshotSuperseded)
  }

  @Test("a space that has operations takes one that holds them all", arguments: StoreKind.allCases)
  func beside(kind: StoreKind) throws {
    let test = try kind.open()
    let service = test.service()
    var (ada, bob) = (Author(1), Author(2))
    _ = ada.write(count: 5)
    let first = bob.write(count: 2)
    _ = try service.push(first, to: .home)
    let before = try service.end()
    let offer = SnapshotOffer(at: before, of: [ada, bob], isBase: true)
    #expect(
      service.refusalOf(SnapshotOffer(at: before, of: [ada], isBase: true))
        == .snapshotIncomplete)
    #expect(
      service.refusalOf(SnapshotOffer(at: nil, of: [ada, bob], isBase: true))
        == .snapshotSuperseded)
    #expect(
      service.refusalOf(SnapshotOffer(at: before, of: [bob], isBase: true))
        == .snapshotSuperseded)
    try service.upload(offer)
    #expect(try service.greet(.home).heads == VersionVector([ada.replica: 5, bob.replica: 2]))
    #expect(refusal { _ = try service.pull(from: .home, after: before) }?.code == .snapshotNeeded)
    // What the space had itself is still known.
    #expect(try service.push(first, to: .home).accepted == 0)
    try maintain(service)
    #expect(try service.push([ada.write()], to: .home).position == 4)
  }

  @Test(
    "INV-05: a page ends before it, and nobody pulls over it", arguments: StoreKind.allCases)
  func passed(kind: StoreKind) throws {
    let test = try kind.open()
    let service = test.service { $0.pageOperations = 2 }
    var (ada, bob) = (Author(1), Author(2))
    _ = ada.write(count: 5)
    let before = bob.write(count: 3)
    _ = try service.push(before, to: .home)
    _ = try service.pull(from: .home, after: nil, excluding: Author(3).replica)
    let reader = try service.end()
    try service.upload(SnapshotOffer(at: reader, of: [ada, bob], isBase: true))
    _ = try service.push([ada.write(), bob.write()], to: .home)
    // Who is behind is given what is before it, whoever is left out.
    for excluded in [nil, bob.replica, Author(3).replica] {
      let first = try service.pull(from: .home, after: nil, excluding: excluded)
      let second = try service.pull(from: .home, after: first.cursor, excluding: excluded)
      #expect(second.hasMore && second.cursor == reader)
      #expect(
        first.operations + second.operations == (excluded == bob.replica ? [] : before))
      let error = refusal { _ = try service.pull(from: .home, after: second.cursor) }
      #expect(error?.code == .snapshotNeeded)
      #expect(error?.message.contains("base") ?? false)
    }
    let greeting = try service.greet(.home)
    let snapshot = try #require(greeting.snapshot)
    #expect(try service.pull(from: .home, after: snapshot.cursor).operations.count == 2)
  }

  @Test(
    "INV-12: it trims nothing that a replica with a lease has not pulled, and nothing that is new",
    arguments: StoreKind.allCases)
  func leased(kind: StoreKind) throws {
    let test = try kind.open()
    let service = test.service { $0.retention = .seconds(64) }
    var (ada, bob) = (Author(1), Author(2))
    _ = ada.write(count: 5)
    _ = try service.push(bob.write(count: 2), to: .home)
    let behind = try service.end()
    _ = try service.pull(from: .home, after: behind, excluding: Author(3).replica)
    _ = try service.push(bob.write(count: 2), to: .home)
    try maintain(service)
    try service.upload(SnapshotOffer(at: service.end(), of: [ada, bob], isBase: true))
    #expect(try service.greet(.home).trimmed == 0)
    test.clock.now += 64_000
    try maintain(service)
    #expect(try service.greet(.home).trimmed == 2)
    #expect(
      try service.pull(from: .home, after: behind, excluding: Author(3).replica).operations.count
        == 2)
    let cursor = try #require(service.greet(.home).snapshot?.cursor)
    _ = try service.pull(from: .home, after: cursor, excluding: Author(3).replica)
    test.clock.now += 64_000
    try maintain(service)
    #expect(try service.greet(.home).trimmed > 2)
  }

  @Test("a space that grew meanwhile refuses it when it is complete", arguments: StoreKind.allCases)
  func grown(kind: StoreKind) throws {
    let service = try kind.open().service()
    var (ada, bob) = (Author(1), Author(2))
    _ = ada.write(count: 5)
    let offer = SnapshotOffer(at: nil, of: [ada], isBase: true)
    let upload = try service.beginSnapshot(offer, in: .home)
    for (index, part) in try offer.partsWithoutRows().enumerated() {
      try service.putSnapshotPart(part, index: index, of: upload.id, in: .home)
    }
    let operations = [bob.write()]
    _ = try service.push(operations, to: .home)
    let error = refusal { try service.completeSnapshot(upload.id, in: .home) }
    #expect(error?.code == .snapshotSuperseded)
    #expect(try everything(service) == operations)
    #expect(try service.greet(.home).heads == VersionVector([bob.replica: 1]))
  }

  @Test("what no operation could have brought is refused", arguments: StoreKind.allCases)
  func refused(kind: StoreKind) throws {
    let test = try kind.open()
    let service = test.service { $0.replicasPerSpace = 1 }
    var (ada, bob) = (Author(1), Author(2))
    _ = bob.write()
    _ = ada.write(at: test.clock.now + 300_001)
    #expect(service.refusalOf(SnapshotOffer(at: nil, of: [ada], isBase: true)) == .timeAhead)
    test.clock.now += 1
    #expect(service.refusalOf(SnapshotOffer(at: nil, of: [ada], isBase: true)) == nil)
    #expect(
      service.refusalOf(SnapshotOffer(at: nil, of: [ada, bob], isBase: true)) == .tooManyReplicas)
    // Without the word for it, nothing is taken that was not pushed.
    #expect(service.refusalOf(SnapshotOffer(at: nil, of: [ada])) == .snapshotSuperseded)
  }

  @Test("listeners are told of it", arguments: StoreKind.allCases)
  func told(kind: StoreKind) async throws {
    let service = try kind.open().service()
    var heads = try service.heads(of: .home).makeAsyncIterator()
    #expect(await heads.next()?.position == 0)
    var ada = Author(1)
    _ = ada.write()
    try service.upload(SnapshotOffer(at: nil, of: [ada], isBase: true))
    #expect(await heads.next()?.position == 1)
  }
}
#endif
