#if Server
import Foundation
import TernCore
import Testing

@testable import TernServer

@Suite("Service: who holds the horizon, on every store")
struct HorizonTests {
  /// A space whose snapshots let it trim 3 operations, which Ada has read, and Bob only one of.
  private func make(_ kind: StoreKind) throws -> (StoreUnderTest, SpaceService, RemoteCursor) {
    let test = try kind.open()
    let service = test.service { $0.retention = .zero }
    var (cleo, bob) = (Author(3), Author(2))
    let anna = try MemberName("anna")
    _ = try service.push([cleo.write()], to: .home)
    let first = try service.end()
    _ = try service.pull(from: .home, after: first, excluding: bob.replica)
    _ = try service.push(cleo.write(count: 2), to: .home)
    try service.upload(SnapshotOffer(at: service.end(), of: [cleo]))
    test.clock.now += 1000
    try service.claim(Author(1).replica, by: anna, in: .home)
    _ = try service.pull(from: .home, after: service.end(), excluding: Author(1).replica, by: anna)
    _ = bob.write()
    return (test, service, first)
  }

  @Test("those who read are told, with member, place and time", arguments: StoreKind.allCases)
  func told(kind: StoreKind) throws {
    let (test, service, _) = try make(kind)
    try maintain(service)
    let horizon = try service.asOperator.horizon(of: .home)
    #expect((horizon.position, horizon.trimmed, horizon.snapshot) == (3, 1, 3))
    let now = test.clock.date
    let readers = [
      SpaceReader(
        replica: Author(2).replica,
        lease: Lease(position: 1, renewed: now.addingTimeInterval(-1))),
      SpaceReader(
        replica: Author(1).replica, member: try MemberName("anna"),
        lease: Lease(position: 3, renewed: now)),
    ]
    #expect(horizon.readers == readers)
    #expect(refusal { _ = try service.asOperator.horizon(of: .work) }?.code == .notFound)
  }

  @Test(
    "a dropped lease holds nothing back, and one that was noted doesn't come again",
    arguments: StoreKind.allCases)
  func dropped(kind: StoreKind) throws {
    let (test, service, first) = try make(kind)
    let bob = Author(2).replica
    test.clock.now += 1000
    // Noted, and not written down.
    _ = try service.pull(from: .home, after: first, excluding: bob)
    let other = SpaceService(store: service.store, clock: service.clock)
    let now = test.clock.date
    #expect(try service.asOperator.horizon(of: .home).readers.first?.lease.renewed == now)
    let written = try other.asOperator.horizon(of: .home).readers.first
    #expect(written?.replica == bob && written?.lease.renewed == now.addingTimeInterval(-2))
    // A server that writes a newer one down is believed.
    test.clock.now += 1000
    let newer = Lease(position: 1, renewed: test.clock.date)
    try other.store.update(.home) { try $0.set(newer, of: bob) }
    #expect(try service.asOperator.horizon(of: .home).readers.first?.lease == newer)
    #expect(try other.asOperator.dropLease(of: bob, in: .home))
    #expect(try !other.asOperator.dropLease(of: bob, in: .home))
    #expect(try service.asOperator.horizon(of: .home).readers.map(\.replica) == [Author(1).replica])
    #expect(try service.authors(of: .home)[bob]?.lease == nil)
    try maintain(service)
    #expect(try service.asOperator.horizon(of: .home).trimmed == 3)
    #expect(try service.asOperator.horizon(of: .home).readers.map(\.replica) == [Author(1).replica])
    // It comes back: what it lacks is in the snapshot, and it reads on from there.
    #expect(
      refusal { _ = try service.pull(from: .home, after: first, excluding: bob) }?.code
        == .snapshotNeeded)
    _ = try service.pull(from: .home, after: service.end(), excluding: bob)
    #expect(try service.asOperator.horizon(of: .home).readers.count == 2)
  }
}
#endif
