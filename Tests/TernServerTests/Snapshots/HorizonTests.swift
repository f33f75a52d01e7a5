#if Server
import TernCore
import Testing

@testable import TernServer

@Suite("The horizon, on every store")
struct HorizonTests {
  private let bob = Author(2).replica
  private let eve = Author(3).replica

  private func service(_ test: StoreUnderTest) -> SpaceService {
    test.service {
      ($0.retention, $0.lease, $0.hasHorizon) = (.zero, .seconds(10 * 24 * 3600), true)
    }
  }

  /// Pushes so many and gives the cursor behind them.
  private func push(_ count: Int, _ ada: inout Author, _ service: SpaceService) throws -> Cursor {
    for _ in 0..<count {
      let basis = PushBasis(replica: ada.replica, cursor: try service.end())
      _ = try service.push([ada.write()], to: .home, basis: basis)
    }
    return try service.end()
  }

  private func acknowledge(_ cursor: Cursor?, _ replica: ReplicaID, _ service: SpaceService) throws
  {
    _ = try service.pull(
      from: .home, after: cursor, excluding: replica, isAcknowledged: true)
  }

  /// A space whose horizon is the time of the third operation.
  private func settled(_ service: SpaceService, _ ada: inout Author) throws -> Cursor {
    let third = try push(3, &ada, service)
    _ = try service.pull(from: .home, after: nil, excluding: bob)
    try maintain(service)
    let fifth = try push(2, &ada, service)
    try acknowledge(third, bob, service)
    try service.upload(SnapshotOffer(at: fifth, of: [ada]))
    return fifth
  }

  @Test(
    "it moves when every lease has acknowledged, and a snapshot is beyond it",
    arguments: StoreKind.allCases)
  func steps(kind: StoreKind) throws {
    let service = service(try kind.open())
    var ada = Author(1)
    let third = try push(3, &ada, service)
    let time = ada.time
    for replica in [bob, eve] {
      _ = try service.pull(from: .home, after: third, excluding: replica)
    }
    try maintain(service)
    let fifth = try push(2, &ada, service)
    try service.upload(SnapshotOffer(at: fifth, of: [ada]))
    try acknowledge(third, bob, service)
    try maintain(service)
    // Eve has everything, and may yet push what she wrote without it.
    #expect(try service.greet(.home).horizon == .zero)
    try acknowledge(third, eve, service)
    try maintain(service)
    #expect(try service.greet(.home).horizon == time)
    // The next step waits for Bob.
    try acknowledge(fifth, eve, service)
    try maintain(service)
    #expect(try service.greet(.home).horizon == time)
    try acknowledge(fifth, bob, service)
    try maintain(service)
    #expect(try service.greet(.home).horizon == ada.time)
  }

  @Test("nobody's lease moves nothing", arguments: StoreKind.allCases)
  func nobody(kind: StoreKind) throws {
    let service = service(try kind.open())
    var ada = Author(1)
    _ = try push(1, &ada, service)
    try maintain(service)
    try service.upload(SnapshotOffer(at: try push(1, &ada, service), of: [ada]))
    try maintain(service)
    #expect(try service.greet(.home).horizon == .zero)
  }

  @Test(
    "INV-12: who is behind it is refused, and a repeat is acknowledged",
    arguments: StoreKind.allCases)
  func refusals(kind: StoreKind) throws {
    let test = try kind.open()
    let service = service(test)
    var ada = Author(1)
    let beginning = try service.pull(from: .home, after: nil).cursor
    let fifth = try settled(service, &ada)
    #expect(try service.greet(.home).horizon > .zero)
    var dan = Author(4)
    let operation = dan.write()
    for basis in [
      nil, PushBasis(replica: dan.replica, cursor: nil),
      PushBasis(replica: dan.replica, cursor: beginning),
      // An acknowledgement says nothing of what was written before it.
      PushBasis(replica: bob, cursor: beginning),
    ] {
      let error = refusal { _ = try service.push([operation], to: .home, basis: basis) }
      #expect(error?.code == .snapshotNeeded)
      #expect(error?.replica == dan.replica && error?.sequence == 1)
    }
    #expect(try service.greet(.home).heads[dan.replica] == 0)
    _ = try service.push(
      [operation], to: .home, basis: PushBasis(replica: dan.replica, cursor: fifth))
    #expect(try service.push([operation], to: .home).accepted == 0)
    // By another process too, and with a cursor of a history that was lost.
    let lost = Cursor(rawValue: "\(test.store.epoch).99.0123456789abcdef")
    _ = try self.service(test).push(
      [dan.write()], to: .home, basis: PushBasis(replica: bob, cursor: lost))
  }

  @Test("what comes late from before the step puts its time back", arguments: StoreKind.allCases)
  func late(kind: StoreKind) throws {
    let service = service(try kind.open())
    var (ada, dan) = (Author(1), Author(4))
    let early = dan.write()
    let third = try push(3, &ada, service)
    _ = try service.pull(from: .home, after: nil, excluding: bob)
    try maintain(service)
    _ = try service.push([early], to: .home)
    try acknowledge(third, bob, service)
    try service.upload(SnapshotOffer(at: try service.end(), of: [ada, dan]))
    let horizon = try service.greet(.home).horizon
    #expect(horizon > .zero && horizon < early.envelope.time)
  }

  @Test("a lease that went back holds the next step back", arguments: StoreKind.allCases)
  func wentBack(kind: StoreKind) throws {
    let test = try kind.open()
    let service = service(test)
    var ada = Author(1)
    let third = try push(3, &ada, service)
    try acknowledge(third, bob, service)
    #expect(try test.store.lease(of: bob, in: .home)?.acknowledged == 3)
    _ = try service.pull(from: .home, after: nil, excluding: bob)
    #expect(try test.store.lease(of: bob, in: .home)?.acknowledged == 0)
  }

  @Test("a space can go without", arguments: StoreKind.allCases)
  func without(kind: StoreKind) throws {
    let service = try kind.open().service { $0.retention = .zero }
    var ada = Author(1)
    _ = try settled(service, &ada)
    #expect(try service.greet(.home).horizon == .zero)
    _ = try service.push([ada.write()], to: .home)
  }
}
#endif
