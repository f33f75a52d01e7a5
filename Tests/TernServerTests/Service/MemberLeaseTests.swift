#if Server
import Foundation
import TernCore
import Testing

@testable import TernServer

/// INV-13.
@Suite("Service: whose pulls hold a space back")
struct MemberLeaseTests {
  private let anna = MemberName(stored: "anna")
  private let mallory = MemberName(stored: "mallory")
  private let ada = Author(1).replica

  /// A space with an operation, whose author Anna has claimed.
  private func service(_ kind: StoreKind, leases: Int = 4) throws -> SpaceService {
    let service = try kind.open().service { $0.leasesPerSpace = leases }
    try service.claim(ada, by: anna, in: .home)
    var ada = Author(1)
    _ = try service.push([ada.write()], to: .home, by: anna)
    return service
  }

  private func pull(_ number: UInt64, by member: MemberName?, _ service: SpaceService) throws {
    let replica = Author(number).replica
    #expect(
      try service.pull(from: .home, after: nil, excluding: replica, by: member).operations.count
        == (replica == ada ? 0 : 1))
  }

  private func leases(_ service: SpaceService) throws -> Set<ReplicaID> {
    Set(try service.store.update(.home) { try $0.leases() }.keys)
  }

  @Test("a member has leases for ids that it claimed, and no others", arguments: StoreKind.allCases)
  func madeUp(kind: StoreKind) throws {
    let service = try service(kind)
    for number in 10..<UInt64(20) { try pull(number, by: mallory, service) }
    #expect(try leases(service).isEmpty)
    try pull(1, by: anna, service)
    try service.claim(Author(2).replica, by: mallory, in: .home)
    try pull(2, by: mallory, service)
    #expect(try leases(service) == [ada, Author(2).replica])
  }

  #if Rehearsal
  @Test("INV-13: the planted bug is one of made-up ids too", arguments: StoreKind.allCases)
  func planted(kind: StoreKind) throws {
    let service = try service(kind)
    try Planted.with(.leaseForged) { try pull(10, by: mallory, service) }
    #expect(try leases(service) == [Author(10).replica])
  }
  #endif

  @Test("tokens that name nobody leave members half of the leases", arguments: StoreKind.allCases)
  func unnamed(kind: StoreKind) throws {
    let service = try service(kind, leases: 5)
    try pull(1, by: anna, service)
    for number in 10..<UInt64(12) { try pull(number, by: nil, service) }
    let error = refusal { try pull(12, by: nil, service) }
    #expect(error?.code == .tooManyReplicas)
    #expect(error?.message.contains("leasesPerSpace") == true)
    // Who has one goes on, and a member's device still gets one.
    try pull(10, by: nil, service)
    try service.claim(Author(2).replica, by: anna, in: .home)
    try pull(2, by: anna, service)
    #expect(try leases(service).count == 4)
  }

  @Test("an operator sees leases, and a ban ends one", arguments: StoreKind.allCases)
  func listed(kind: StoreKind) throws {
    let service = try service(kind)
    try pull(10, by: nil, service)
    let reader = Author(10).replica
    #expect(try service.authors(of: .home)[reader] == SpaceAuthor(lease: 0))
    #expect(try service.authors(of: .home)[ada]?.lease == nil)
    try service.ban(reader, in: .home)
    #expect(try service.authors(of: .home)[reader]?.lease == nil)
    #expect(try service.authors(of: .work).isEmpty)
    #expect(try service.store.spaces() == [.home])
  }

  @Test(
    "a pull that a ban or another owner overtakes leaves no lease", arguments: StoreKind.allCases)
  func overtaken(kind: StoreKind) throws {
    let service = try service(kind)
    for (number, member) in [(1, anna), (10, nil)] as [(UInt64, MemberName?)] {
      let replica = Author(number).replica
      let page = try service.page(of: .home, after: nil, excluding: replica)
      let late = try #require(
        try LeaseRenewal(
          of: replica, after: nil, given: page, in: .home, by: member, at: service))
      if member == nil {
        try service.claim(replica, by: mallory, in: .home)
      } else {
        try service.ban(replica, in: .home)
      }
      #expect(try service.settle(late) == nil)
      #expect(try leases(service).isEmpty)
    }
  }

  @Test("a second ban ends a lease that is there all the same", arguments: StoreKind.allCases)
  func again(kind: StoreKind) throws {
    let service = try service(kind)
    try service.ban(ada, in: .home)
    try service.store.update(.home) { [ada] in
      try $0.set(Lease(position: 0, renewed: Date(milliseconds: 1)), of: ada)
    }
    #expect(try service.ban(ada, in: .home) == 1)
    #expect(try leases(service).isEmpty)
  }
}
#endif
