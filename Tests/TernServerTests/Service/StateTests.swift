#if Server
import TernCore
import TernServer
import Testing

@Suite("Service: state reports, on every store")
struct StateTests {
  private func report(
    _ replica: UInt64, at cursor: RemoteCursor, rows: UInt64 = 1, shape: UInt64 = .max,
    isRepaired: Bool = false
  ) -> StateReport {
    StateReport(
      replica: Author(replica).replica, cursor: cursor, operations: .max, isRepaired: isRepaired,
      tables: ["book": .init(shape: shape, rows: rows), "shelf": .init(shape: 1, rows: 0)])
  }

  @Test("the last one is told while it is of the newest position", arguments: StoreKind.allCases)
  func told(kind: StoreKind) throws {
    let service = try kind.open().service { $0.stateInterval = .milliseconds(0) }
    var ada = Author(1)
    #expect(try !service.greet(.home).wantsState)
    _ = try service.push([ada.write()], to: .home)
    #expect(try service.greet(.home).wantsState)
    let first = report(1, at: try service.end())
    try service.report(first, in: .home)
    for _ in 0..<2 {
      #expect(try service.greet(.home).state == first)
      #expect(try !service.greet(.home).wantsState)
      // The same again changes nothing.
      try service.report(report(2, at: try service.end()), in: .home)
    }
    _ = try service.push([ada.write()], to: .home)
    #expect(try service.greet(.home).state == nil)
    let late = refusal { try service.report(first, in: .home) }
    #expect(late?.code == .stateSuperseded)
    let second = report(2, at: try service.end(), rows: 2)
    try service.report(second, in: .home)
    #expect(try service.greet(.home).state == second)
  }

  @Test(
    "another one is asked for after the interval, when something came",
    arguments: StoreKind.allCases)
  func interval(kind: StoreKind) throws {
    let test = try kind.open()
    let service = test.service { $0.stateInterval = .seconds(10) }
    var ada = Author(1)
    _ = try service.push([ada.write()], to: .home)
    try service.report(report(1, at: try service.end()), in: .home)
    test.clock.now += 10_000
    #expect(try !service.greet(.home).wantsState)
    _ = try service.push([ada.write()], to: .home)
    #expect(try service.greet(.home).wantsState)
    try service.report(report(1, at: try service.end()), in: .home)
    _ = try service.push([ada.write()], to: .home)
    test.clock.now += 9_999
    #expect(try !service.greet(.home).wantsState)
    test.clock.now += 1
    #expect(try service.greet(.home).wantsState)
  }

  @Test("one that differs asks for a snapshot, and takes no place", arguments: StoreKind.allCases)
  func disputed(kind: StoreKind) throws {
    let service = try kind.open().service()
    var ada = Author(1)
    _ = try service.push([ada.write()], to: .home)
    let end = try service.end()
    let first = report(1, at: end)
    try service.report(first, in: .home)
    // Another shape is of another version of the app, and says nothing.
    try service.report(report(2, at: end, rows: 2, shape: 5), in: .home)
    #expect(try !service.greet(.home).wantsSnapshot)
    try service.report(report(2, at: end, rows: 2), in: .home)
    #expect(try service.greet(.home).wantsSnapshot)
    #expect(try service.greet(.home).state == first)
    try service.upload(SnapshotOffer(at: end, of: [ada]))
    #expect(try !service.greet(.home).wantsSnapshot)
    // One that a snapshot gave takes the place; then neither of the two does.
    let repaired = report(2, at: end, rows: 2, isRepaired: true)
    try service.report(repaired, in: .home)
    #expect(try service.greet(.home).state == repaired)
    try service.report(report(3, at: end, rows: 3, isRepaired: true), in: .home)
    #expect(try service.greet(.home).state == repaired)
  }

  @Test("more tables than the limit are refused by its name")
  func tables() throws {
    let service = try StoreKind.memory.open().service { $0.reportedTables = 1 }
    var ada = Author(1)
    _ = try service.push([ada.write()], to: .home)
    let error = refusal { try service.report(report(1, at: try service.end()), in: .home) }
    #expect(error?.code == .tooLarge && error?.message.hasPrefix("reportedTables") == true)
    #expect(try service.greet(.home).state == nil)
  }

  @Test("what is no report of the space's own history is refused, and makes no space")
  func refused() throws {
    let service = try StoreKind.memory.open().service()
    for text in ["", "x", "\(service.store.epoch).0.", "\(service.store.epoch).1.ab"] {
      let error = refusal {
        try service.report(report(1, at: RemoteCursor(rawValue: text)), in: .home)
      }
      #expect(error?.code == .stateSuperseded, "\(text)")
    }
    #expect(try service.store.spaces().isEmpty)
  }
}
#endif
