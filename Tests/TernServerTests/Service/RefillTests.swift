#if Server
import TernCore
import TernServer
import Testing

@Suite("Service: a base that an operator asks for, on every store")
struct RefillTests {
  /// A space with Ada's operations and a snapshot of them.
  private func begun(_ kind: StoreKind) throws -> (StoreUnderTest, SpaceService, Author) {
    let test = try kind.open()
    let service = test.service()
    var ada = Author(1)
    _ = try service.push(ada.write(count: 3), to: .home)
    try service.upload(SnapshotOffer("first", at: service.end(), of: [ada]))
    return (test, service, ada)
  }

  private func base(_ service: SpaceService, _ authors: [Author]) throws -> SnapshotOffer {
    SnapshotOffer("base", at: try service.end(), of: authors, isBase: true)
  }

  @Test(
    "INV-03: a space with a snapshot takes none, and one again for a day after it was opened",
    arguments: StoreKind.allCases)
  func opened(kind: StoreKind) throws {
    let (test, service, ada) = try begun(kind)
    var bob = Author(2)
    _ = bob.write()
    let offer = try base(service, [ada, bob])
    let before = try service.greet(.home)
    let error = refusal { _ = try service.beginSnapshot(offer, in: .home) }
    #expect(error?.code == .refillNeeded)
    #expect(error?.message.contains("tern space refill") ?? false)
    #expect(try service.greet(.home) == before)

    #expect(try service.refill(.home) == test.clock.date.addingTimeInterval(86_400))
    test.clock.now += 86_400_000
    #expect(service.refusalOf(offer) == .refillNeeded)
    #expect(try service.refill(.home) != nil)
    #expect(try service.refill(.home, isOpen: false) == nil)
    #expect(service.refusalOf(offer) == .refillNeeded)
    // A second time opens it anew.
    for _ in 0..<2 { try service.refill(.home) }
    test.clock.now += 86_399_999
    try service.upload(offer)
    #expect(
      try service.greet(.home).heads == VersionVector([ada.replica: 3, bob.replica: 1]))
  }

  @Test("it has to be open at the end too", arguments: StoreKind.allCases)
  func closed(kind: StoreKind) throws {
    let (_, service, ada) = try begun(kind)
    var bob = Author(2)
    _ = bob.write()
    try service.refill(.home)
    let offer = try base(service, [ada, bob])
    let id = try service.beginSnapshot(offer, in: .home).id
    for (index, part) in try offer.partsWithoutRows().enumerated() {
      try service.putSnapshotPart(part, index: index, of: id, in: .home)
    }
    try service.refill(.home, isOpen: false)
    #expect(refusal { try service.completeSnapshot(id, in: .home) }?.code == .refillNeeded)
    #expect(try service.greet(.home).heads == VersionVector([ada.replica: 3]))
  }

  @Test("what was opened by a clock that was ahead is not open", arguments: StoreKind.allCases)
  func ahead(kind: StoreKind) throws {
    let (test, service, ada) = try begun(kind)
    var bob = Author(2)
    _ = bob.write()
    test.clock.now += 1_000_000_000
    try service.refill(.home)
    test.clock.now -= 1_000_000_000
    #expect(service.refusalOf(try base(service, [ada, bob])) == .refillNeeded)
  }

  @Test(
    "INV-03: unasked, none claims more of an author than pushed here", arguments: StoreKind.allCases
  )
  func claims(kind: StoreKind) throws {
    let service = try kind.open().service()
    var (ada, bob) = (Author(1), Author(2))
    _ = try service.push(ada.write(count: 3), to: .home)
    var claimed = ada
    _ = claimed.write()
    _ = bob.write()
    let error = refusal {
      _ = try service.beginSnapshot(base(service, [claimed, bob]), in: .home)
    }
    #expect(error?.code == .refillNeeded && error?.replica == ada.replica)
    // What nobody has pushed is what a wiped space lacks.
    try service.upload(base(service, [ada, bob]))
    #expect(try service.push([ada.write()], to: .home).accepted == 1)
  }

  @Test("a second one of a space that was filled is asked for", arguments: StoreKind.allCases)
  func second(kind: StoreKind) throws {
    let service = try kind.open().service()
    var (ada, bob) = (Author(1), Author(2))
    (_, _) = (ada.write(), bob.write())
    try service.upload(base(service, [ada]))
    #expect(service.refusalOf(try base(service, [ada, bob])) == .refillNeeded)
    try service.refill(.home)
    try service.upload(
      SnapshotOffer("second", at: service.end(), of: [ada, bob], isBase: true))
    #expect(try service.greet(.home).heads == VersionVector([ada.replica: 1, bob.replica: 1]))
  }

  @Test("a space that is not there is not opened", arguments: StoreKind.allCases)
  func absent(kind: StoreKind) throws {
    let service = try kind.open().service()
    #expect(refusal { try service.refill(.work) }?.code == .notFound)
    #expect(try service.store.spaces().isEmpty)
  }
}
#endif
