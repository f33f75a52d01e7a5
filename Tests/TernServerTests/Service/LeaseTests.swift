#if Server
import TernCore
import Testing

@testable import TernServer

@Suite("Service: leases, on every store")
struct LeaseTests {
  private static let day: Int64 = 24 * 3600 * 1000
  private let bob = Author(2).replica
  private let eve = Author(3).replica

  private func service(_ test: StoreUnderTest) -> SpaceService {
    test.service { ($0.retention, $0.lease) = (.zero, .seconds(10 * 24 * 3600)) }
  }

  /// Pushes so many and gives the cursor behind each, the beginning's first.
  private func push(_ count: Int, _ ada: inout Author, _ service: SpaceService) throws
    -> [RemoteCursor]
  {
    var cursors = [try service.pull(from: .home, after: nil).cursor]
    for _ in 0..<count {
      _ = try service.push([ada.write()], to: .home)
      cursors.append(try service.pull(from: .home, after: nil).cursor)
    }
    return cursors
  }

  @Test(
    "the horizon is the least that a replica asked to pull after", arguments: StoreKind.allCases)
  func horizon(kind: StoreKind) throws {
    let service = service(try kind.open())
    var ada = Author(1)
    let cursors = try push(6, &ada, service)
    for (replica, place) in [(bob, 2), (eve, 5)] {
      _ = try service.pull(from: .home, after: cursors[place], excluding: replica)
    }
    try service.upload(SnapshotOffer(at: cursors[6], of: [ada]))
    #expect(try service.greet(.home).trimmed == 2)
    _ = try service.pull(from: .home, after: cursors[6], excluding: bob)
    try maintain(service)
    #expect(try service.greet(.home).trimmed == 5)
  }

  @Test("a replica that has pulled nothing yet holds everything", arguments: StoreKind.allCases)
  func beginning(kind: StoreKind) throws {
    let service = service(try kind.open())
    var ada = Author(1)
    let cursors = try push(3, &ada, service)
    _ = try service.pull(from: .home, after: nil, excluding: bob)
    try service.upload(SnapshotOffer(at: cursors[3], of: [ada]))
    #expect(try service.greet(.home).trimmed == 0)
  }

  @Test("a lease runs out, and never before its time", arguments: StoreKind.allCases)
  func expiry(kind: StoreKind) throws {
    let test = try kind.open()
    let service = service(test)
    var ada = Author(1)
    let cursors = try push(3, &ada, service)
    _ = try service.pull(from: .home, after: cursors[1], excluding: bob)
    // Noted and never written down, as by a process that dies: the lease is kept for it.
    test.clock.now += Self.day - 1
    _ = try service.pull(from: .home, after: cursors[1], excluding: bob)
    let last = test.clock.now
    let next = self.service(test)
    try next.upload(SnapshotOffer(at: cursors[3], of: [ada]))
    test.clock.now = last + 10 * Self.day
    try maintain(next)
    #expect(try next.greet(.home).trimmed == 1)
    test.clock.now += Self.day
    try maintain(next)
    #expect(try next.greet(.home).trimmed == 3)
    let late = refusal { _ = try next.pull(from: .home, after: cursors[1], excluding: bob) }
    #expect(late?.code == .snapshotNeeded)
    #expect(try test.store.lease(of: bob, in: .home) == nil)
  }

  @Test(
    "only a first lease and one that went back are written at once", arguments: StoreKind.allCases)
  func batched(kind: StoreKind) throws {
    let test = try kind.open()
    let service = service(test)
    var ada = Author(1)
    let cursors = try push(4, &ada, service)
    func written() throws -> UInt64? { try test.store.lease(of: bob, in: .home)?.position }
    func pull(_ place: Int) throws {
      _ = try service.pull(from: .home, after: cursors[place], excluding: bob)
    }
    try pull(1)
    #expect(try written() == 1)
    try pull(3)
    #expect(try written() == 1)
    try pull(2)
    #expect(try written() == 2)
    try pull(4)
    try maintain(service)
    #expect(try written() == 4)
    try pull(1)
    try maintain(service)
    #expect(try written() == 1)
    test.clock.now += Self.day
    try pull(2)
    #expect(try written() == 2)
  }

  @Test(
    "one reader more than a space may have is refused, and the others go on",
    arguments: StoreKind.allCases)
  func limit(kind: StoreKind) throws {
    let service = try kind.open().service { $0.leasesPerSpace = 1 }
    var ada = Author(1)
    _ = try service.push([ada.write()], to: .home)
    _ = try service.pull(from: .home, after: nil, excluding: bob)
    let error = refusal { _ = try service.pull(from: .home, after: nil, excluding: eve) }
    #expect(error?.code == .tooManyReplicas)
    #expect(error?.message.contains("leasesPerSpace") == true)
    _ = try service.pull(from: .home, after: nil, excluding: bob)
    _ = try service.pull(from: .home, after: nil)
  }

  @Test(
    "one that waits is not written into another space of the same name",
    arguments: StoreKind.allCases)
  func anotherSpace(kind: StoreKind) throws {
    let test = try kind.open()
    let service = service(test)
    var (ada, gil) = (Author(1), Author(7))
    let cursors = try push(4, &ada, service)
    for place in [1, 4] {
      _ = try service.pull(from: .home, after: cursors[place], excluding: bob)
    }
    let page = try service.page(of: .home, after: cursors[4], excluding: eve)
    let late = try LeaseRenewal(
      of: eve, after: cursors[4], given: page, in: .home, by: nil, at: service)
    // As by the command, in another process.
    #expect(try self.service(test).removeSpace(.home))
    _ = try service.push([gil.write()], to: .home)
    #expect(try service.settle(#require(late)) == nil)
    try maintain(service)
    for replica in [bob, eve] { #expect(try test.store.lease(of: replica, in: .home) == nil) }
  }

  @Test("reading an empty space makes neither space nor lease", arguments: StoreKind.allCases)
  func empty(kind: StoreKind) throws {
    let test = try kind.open()
    _ = try test.service { $0.spaces = 0 }.pull(from: .home, after: nil, excluding: bob)
    #expect(try test.store.spaces().isEmpty)
  }
}
#endif
