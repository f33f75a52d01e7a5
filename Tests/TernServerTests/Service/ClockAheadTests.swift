#if Server
import Foundation
import TernCore
import TernServer
import Testing

@Suite("Service: a server's clock that was ahead, on every store")
struct ClockAheadTests {
  private static let day: Int64 = 86_400_000
  private static let days = 400 * day

  /// A day in which nobody sets the clock.
  private func passDay(_ test: StoreUnderTest, _ service: SpaceService) throws {
    try maintain(service)
    test.clock.now += Self.day
    try maintain(service)
  }

  @Test(
    "the space goes on from the times that it took, and no further", arguments: StoreKind.allCases)
  func times(kind: StoreKind) throws {
    let test = try kind.open()
    let service = test.service()
    var (ada, bob, carl) = (Author(1), Author(2), Author(3))
    test.clock.now += Self.days
    let then = test.clock.now
    _ = try service.push([ada.write(at: then)], to: .home)
    #expect(try service.greet(.home).newest == nil)
    test.clock.now -= Self.days
    #expect(try service.greet(.home).newest == Date(milliseconds: then))
    #expect(try service.greet(.work).newest == nil)
    let over = carl.write(at: then + 2)
    #expect(refusal { _ = try service.push([over], to: .home) }?.code == .timeAhead)
    // Not of another space.
    let next = bob.write(at: then + 1)
    #expect(refusal { _ = try service.push([next], to: .work) }?.code == .timeAhead)
    #expect(try service.push([next], to: .home).accepted == 1)
    #expect(try service.greet(.home).newest == Date(milliseconds: then + 1))
    #expect(try service.push([over], to: .home).accepted == 1)
  }

  @Test("a base may have the times that the space took", arguments: StoreKind.allCases)
  func base(kind: StoreKind) throws {
    let test = try kind.open()
    let service = test.service()
    var (ada, bob) = (Author(1), Author(2))
    test.clock.now += Self.days
    let then = test.clock.now
    _ = try service.push([ada.write(at: then)], to: .home)
    test.clock.now -= Self.days
    _ = bob.write(at: then)
    let offer = SnapshotOffer(at: try service.end(), of: [ada, bob], isBase: true)
    #expect(service.refusalOf(offer) == nil)
    _ = bob.write(at: then + 2)
    let over = SnapshotOffer("o", at: try service.end(), of: [ada, bob], isBase: true)
    #expect(service.refusalOf(over) == .timeAhead)
  }

  @Test("what was stored then counts as stored now, and is trimmed", arguments: StoreKind.allCases)
  func retention(kind: StoreKind) throws {
    let test = try kind.open()
    let service = test.service { $0.retention = .seconds(64) }
    var ada = Author(1)
    _ = try service.push(ada.write(count: 2), to: .home)
    test.clock.now += Self.days
    try service.upload(SnapshotOffer(at: service.end(), of: [ada]))
    test.clock.now -= Self.days
    try passDay(test, service)
    for _ in 0..<2 {
      try maintain(service)
      #expect(try service.greet(.home).trimmed == 0)
      test.clock.now += 32_000
    }
    try maintain(service)
    #expect(try service.greet(.home).trimmed == 2)
  }

  @Test("a lease of then lasts as long as one of now", arguments: StoreKind.allCases)
  func lease(kind: StoreKind) throws {
    let test = try kind.open()
    let service = test.service { ($0.retention, $0.lease) = (.zero, .seconds(100)) }
    var ada = Author(1)
    _ = try service.push(ada.write(count: 2), to: .home)
    test.clock.now += Self.days
    _ = try service.pull(from: .home, after: nil, excluding: Author(2).replica)
    try service.upload(SnapshotOffer(at: service.end(), of: [ada]))
    test.clock.now -= Self.days
    try passDay(test, service)
    // A day more, by which it may be written down late.
    test.clock.now += 100_000 + 86_400_000
    try maintain(service)
    #expect(try service.greet(.home).trimmed == 0)
    test.clock.now += 1
    try maintain(service)
    #expect(try service.greet(.home).trimmed == 2)
  }

  @Test("an upload of then is given up as one of now", arguments: StoreKind.allCases)
  func upload(kind: StoreKind) throws {
    let test = try kind.open()
    let service = test.service { $0.uploadAge = .seconds(100) }
    var ada = Author(1)
    _ = try service.push(ada.write(count: 2), to: .home)
    let offer = SnapshotOffer(at: try service.end(), of: [ada], parts: 2)
    test.clock.now += Self.days
    let id = try service.beginSnapshot(offer, in: .home).id
    try service.putSnapshotPart([1], index: 0, of: id, in: .home)
    test.clock.now -= Self.days
    try passDay(test, service)
    test.clock.now += 100_001
    #expect(try service.beginSnapshot(offer, in: .home).missing == [0, 1])
  }

  @Test(
    "a clock that is behind for hours ends no lease and no retention", arguments: StoreKind.allCases
  )
  func behind(kind: StoreKind) throws {
    let test = try kind.open()
    let service = test.service { ($0.retention, $0.lease) = (.seconds(200), .seconds(100)) }
    let bob = Author(2).replica
    var ada = Author(1)
    test.clock.now += Self.days
    _ = try service.push(ada.write(count: 2), to: .home)
    _ = try service.pull(from: .home, after: nil, excluding: bob)
    try service.upload(SnapshotOffer(at: service.end(), of: [ada]))
    try maintain(service)
    // The machine boots without knowing the time, and is put right 20 hours later.
    let restarted = test.service { ($0.retention, $0.lease) = (.seconds(200), .seconds(100)) }
    test.clock.now -= Self.days
    for _ in 0..<20 {
      try maintain(restarted)
      _ = try restarted.pull(from: .home, after: nil, excluding: bob)
      test.clock.now += 3_600_000
    }
    test.clock.now += Self.days - 20 * 3_600_000
    try maintain(restarted)
    #expect(try restarted.greet(.home).trimmed == 0)
    test.clock.now += 200_000
    try maintain(restarted)
    // The lease lasts, by the day that it may be written down late.
    #expect(try restarted.greet(.home).trimmed == 0)
    test.clock.now += Self.day
    try maintain(restarted)
    #expect(try restarted.greet(.home).trimmed == 2)
  }

  @Test("a state report of then is as old as it may be", arguments: StoreKind.allCases)
  func state(kind: StoreKind) throws {
    let test = try kind.open()
    let service = test.service()
    var ada = Author(1)
    _ = try service.push([ada.write()], to: .home)
    test.clock.now += Self.days
    let report = StateReport(
      replica: ada.replica, cursor: try service.end(), operations: .max, isRepaired: false,
      tables: [:])
    try service.report(report, in: .home)
    test.clock.now -= Self.days
    #expect(try !service.greet(.home).wantsState)
    _ = try service.push([ada.write()], to: .home)
    #expect(try service.greet(.home).wantsState)
  }
}
#endif
