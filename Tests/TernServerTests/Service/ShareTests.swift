#if Server
import TernCore
import TernServer
import Testing

@Suite("Service: a member's share of a space, on every store")
struct ShareTests {
  private let anna: MemberName
  private let ben: MemberName

  init() throws {
    (anna, ben) = (try MemberName("anna"), try MemberName("ben"))
  }

  /// A service whose spaces take so much.
  private func service(
    _ opened: StoreUnderTest, bytes: Int = 1 << 30, operations: Int = 1_000
  ) -> SpaceService {
    opened.service {
      ($0.bytesPerSpace, $0.operationsPerSpace, $0.retention) = (bytes, operations, .zero)
    }
  }

  /// Tokens of the space for these; `nil` names nobody.
  @discardableResult
  private func give(_ service: SpaceService, _ members: MemberName?...) throws -> [String] {
    var generator = SeededGenerator(state: 7)
    return try members.map { try service.createToken(for: .home, of: $0, using: &generator) }
  }

  private func refuses(
    _ service: SpaceService, _ operations: [SyncOperation], by member: MemberName?
  ) -> Bool {
    let error = refusal { _ = try service.push(operations, to: .home, by: member) }
    return error?.code == .spaceFull && error?.message.contains("one member") == true
  }

  @Test("half of what is left, of operations", arguments: StoreKind.allCases)
  func operations(kind: StoreKind) throws {
    let service = service(try kind.open(), operations: 100)
    try give(service, anna, ben, nil)
    var (first, second, third) = (Author(1), Author(2), Author(3))
    // A member has as many devices as it needs, and one share.
    _ = try service.push(first.write(count: 30), to: .home, by: anna)
    _ = try service.push(second.write(count: 20), to: .home, by: anna)
    for author in [first, second] {
      var author = author
      #expect(refuses(service, [author.write()], by: anna))
    }
    #expect(try service.push(third.write(count: 25), to: .home, by: ben).accepted == 25)
    let next = third
    #expect(refuses(service, [third.write()], by: ben))
    // All who are named by no token share one.
    var (fourth, fifth) = (Author(4), Author(5))
    #expect(try service.push(fourth.write(count: 12), to: .home).accepted == 12)
    let early = [fifth.write()]
    #expect(refuses(service, early, by: nil))
    // A repeat needs no room.
    var again = Author(3)
    #expect(try service.push(again.write(count: 25), to: .home, by: ben).accepted == 0)
    // An id that is given to somebody else takes its operations along.
    try service.assign(next.replica, to: anna, in: .home)
    #expect(try service.push(early, to: .home, by: ben).accepted == 1)
  }

  @Test("members whom an app's authorizer names have shares too", arguments: StoreKind.allCases)
  func withoutTokens(kind: StoreKind) throws {
    let service = service(try kind.open(), operations: 100)
    var (ada, bob) = (Author(1), Author(2))
    try service.createSpace(.home)
    try service.claim(ada.replica, by: anna, in: .home)
    // Alone it may have all of it.
    #expect(try service.push(ada.write(count: 60), to: .home, by: anna).accepted == 60)
    try service.claim(bob.replica, by: ben, in: .home)
    #expect(refuses(service, [ada.write()], by: anna))
    #expect(try service.push(bob.write(count: 20), to: .home, by: ben).accepted == 20)
    #expect(refuses(service, [bob.write()], by: ben))
    // Banned, it leaves the other all that is left.
    try service.ban(bob.replica, in: .home)
    var eve = Author(3)
    #expect(try service.push([eve.write()], to: .home, by: anna).accepted == 1)
  }

  @Test("half of what is left, of bytes as they are stored", arguments: StoreKind.allCases)
  func bytes(kind: StoreKind) throws {
    let service = service(try kind.open(), bytes: 100_000)
    try give(service, anna, ben)
    var (ada, bob) = (Author(1), Author(2))
    _ = try service.push(ada.write(count: 4, bytes: 10_000), to: .home, by: anna)
    #expect(refuses(service, ada.write(count: 1, bytes: 10_000), by: anna))
    #expect(
      try service.push(bob.write(count: 2, bytes: 10_000), to: .home, by: ben).accepted == 2)
    #expect(refuses(service, bob.write(count: 1, bytes: 10_000), by: ben))
  }

  enum Holders: CaseIterable {
    case one, nobody, oneAndRevoked
  }

  @Test(
    "who shares the space with nobody has all of it", arguments: StoreKind.allCases,
    Holders.allCases)
  func alone(kind: StoreKind, holders: Holders) throws {
    let service = service(try kind.open(), operations: 100)
    switch holders {
    case .one: try give(service, anna, anna)
    case .nobody: try give(service, nil, nil)
    case .oneAndRevoked:
      let tokens = try give(service, anna, ben)
      try service.revoke(tokens[1])
    }
    let member = holders == .nobody ? nil : anna
    var ada = Author(1)
    #expect(try service.push(ada.write(count: 100), to: .home, by: member).accepted == 100)
    let next = ada.write()
    let error = refusal { _ = try service.push([next], to: .home, by: member) }
    #expect(error?.code == .spaceFull)
  }

  @Test("what is trimmed is room again", arguments: StoreKind.allCases)
  func trimmed(kind: StoreKind) throws {
    let service = service(try kind.open(), operations: 100)
    try give(service, anna, ben)
    var ada = Author(1)
    _ = try service.push(ada.write(count: 50), to: .home, by: anna)
    var ahead = ada
    #expect(refuses(service, [ahead.write()], by: anna))
    try service.upload(SnapshotOffer(at: service.end(), of: [ada]))
    try maintain(service)
    _ = try service.push(ada.write(count: 10), to: .home, by: anna)
    // What comes back counts again.
    #expect(try service.restore(.home).operations == 50)
    ahead = ada
    #expect(refuses(service, [ahead.write()], by: anna))
    try service.endRestore(.home)
    try maintain(service)
    #expect(try service.push([ada.write()], to: .home, by: anna).accepted == 1)
  }

  @Test("a banned author counts in no quota", arguments: StoreKind.allCases)
  func banned(kind: StoreKind) throws {
    let opened = try kind.open()
    let service = service(opened, operations: 100)
    var (ada, bob, eve) = (Author(1), Author(2), Author(3))
    _ = try service.push(eve.write(count: 100), to: .home)
    #expect(refusal { _ = try service.push([ada.write()], to: .home) }?.code == .spaceFull)
    try service.ban(eve.replica, in: .home)
    #expect(try service.push(bob.write(count: 90), to: .home).accepted == 90)
    // It is stored all the same.
    #expect(try service.store.usage(of: .home).operations == 190)
    try service.unban(eve.replica, in: .home)
    #expect(refusal { _ = try service.push([bob.write()], to: .home) }?.code == .spaceFull)
  }

  @Test("while a space is open for a refill there are no shares", arguments: StoreKind.allCases)
  func refill(kind: StoreKind) throws {
    let service = service(try kind.open(), operations: 100)
    try give(service, anna, ben)
    var ada = Author(1)
    _ = try service.push(ada.write(count: 50), to: .home, by: anna)
    let next = ada.write(count: 50)
    #expect(refuses(service, next, by: anna))
    try service.refill(.home)
    #expect(try service.push(next, to: .home, by: anna).accepted == 50)
  }

  @Test("an operator gives members a part of the quota", arguments: StoreKind.allCases)
  func part(kind: StoreKind) throws {
    let service = service(try kind.open(), operations: 100)
    try give(service, anna, ben)
    var (ada, bob) = (Author(1), Author(2))
    for (percent, count) in [(60, 60), (70, 10), (20, 0)] {
      #expect(try service.setQuota(SpaceQuota(share: percent), of: .home))
      #expect(try service.store.usage(of: .home).quota == SpaceQuota(share: percent))
      if count > 0 {
        #expect(try service.push(ada.write(count: count), to: .home, by: anna).accepted == count)
      }
      var ahead = ada
      #expect(refuses(service, [ahead.write()], by: anna))
    }
    #expect(try service.push(bob.write(count: 20), to: .home, by: ben).accepted == 20)
    var ahead = bob
    #expect(refuses(service, [ahead.write()], by: ben))
    try service.setQuota(SpaceQuota(share: 100), of: .home)
    #expect(try service.push(bob.write(count: 10), to: .home, by: ben).accepted == 10)
    for percent in [0, 101, -1] {
      let error = refusal { try service.setQuota(SpaceQuota(share: percent), of: .home) }
      #expect(error?.code == .malformed)
    }
  }

  @Test("an upload is no more than half of what is left either", arguments: StoreKind.allCases)
  func uploads(kind: StoreKind) throws {
    let service = service(try kind.open(), bytes: 100_000)
    try give(service, anna, ben)
    var (ada, bob) = (Author(1), Author(2))
    _ = try service.push([ada.write()], to: .home, by: anna)
    for key in ["a", "b"] {
      let offer = SnapshotOffer(key, at: try service.end(), of: [ada], parts: 9)
      let id = try service.beginSnapshot(offer, in: .home).id
      let codes = (0..<9).map { index in
        refusal {
          try service.putSnapshotPart(
            [UInt8](repeating: UInt8(index), count: 10_000), index: index, of: id, in: .home)
        }?.code
      }
      let most = key == "a" ? 4 : 2
      #expect(codes == (0..<9).map { $0 < most ? nil : .spaceFull })
    }
    // Nobody's operations wait for it.
    #expect(
      try service.push(bob.write(count: 4, bytes: 10_000), to: .home, by: ben).accepted == 4)
  }

  @Test("what refuses a large base names the way out", arguments: StoreKind.allCases)
  func base(kind: StoreKind) throws {
    let service = service(try kind.open(), bytes: 100_000)
    try give(service, anna, ben)
    var ada = Author(1)
    _ = ada.write()
    let offer = SnapshotOffer("base", at: nil, of: [ada], parts: 12, isBase: true)
    let parts = try offer.parts(ofAbout: 10_000)
    let id = try service.beginSnapshot(offer, in: .home).id
    func put() -> RemoteError? {
      refusal {
        for (index, part) in parts.enumerated() {
          try service.putSnapshotPart(part, index: index, of: id, in: .home)
        }
      }
    }
    let error = put()
    #expect(error?.code == .spaceFull)
    #expect(error?.message.contains("about 50000 bytes") == true)
    #expect(error?.message.contains("tern space refill --data FILE SPACE") == true)
    try service.refill(.home)
    #expect(put() == nil)
    try service.completeSnapshot(id, in: .home)
    #expect(try service.greet(.home).heads == VersionVector([ada.replica: 1]))
  }

  @Test("an upload may stand for what came since the newest one", arguments: StoreKind.allCases)
  func honest(kind: StoreKind) throws {
    let service = service(try kind.open(), bytes: 100_000)
    try give(service, anna, ben)
    var ada = Author(1)
    _ = try service.push([ada.write()], to: .home, by: anna)
    try service.upload(SnapshotOffer("small", at: service.end(), of: [ada]))
    _ = try service.push(ada.write(count: 4, bytes: 10_000), to: .home, by: anna)
    let offer = SnapshotOffer("large", at: try service.end(), of: [ada], parts: 5)
    let id = try service.beginSnapshot(offer, in: .home).id
    let codes = (0..<5).map { index in
      refusal {
        try service.putSnapshotPart(
          [UInt8](repeating: UInt8(index), count: 10_000), index: index, of: id, in: .home)
      }?.code
    }
    #expect(codes == [nil, nil, nil, nil, .spaceFull])
  }
}
#endif
