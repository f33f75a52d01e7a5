#if Server && Rehearsal
@_spi(Rehearsal) import TernCore
import Testing

@testable import TernServer

/// Each bug of `Planted.ofMoves` breaks what is looked for here, and nothing does without it.
@Suite("Move: planted bugs", .timeLimit(.minutes(4)))
struct PlantedMoveTests {
  private func phases(_ stores: MovingStores) throws -> [SpacePhase] {
    try [stores.from, stores.to].map { try $0.summary(of: .home).standing.phase }
  }

  /// Whether an operation that the source acknowledged while it was frozen is lost.
  private func losesPush(_ bug: Planted?, _ way: MoveWay) throws -> Bool {
    let stores = try MovingStores(way)
    let service = stores.service(of: stores.source)
    var late = Author(30)
    let operation = late.write("late")
    var isTaken = false
    _ = try Planted.with(bug) {
      try stores.move { step in
        guard step == .open else { return }
        isTaken = refusal { _ = try service.push([operation], to: .home) } == nil
      }.run()
    }
    let heads = try stores.to.summary(of: .home).heads
    return isTaken && heads[late.replica] == 0
  }

  @Test(arguments: MoveWay.across)
  func `INV-03: a freeze that is forgotten loses a push`(_ way: MoveWay) throws {
    #expect(try losesPush(.freezeForgotten, way))
    #expect(try !losesPush(nil, way))
  }

  /// Whether a copy that somebody changed is served.
  private func servesOther(_ bug: Planted?, _ way: MoveWay) throws -> Bool {
    let stores = try MovingStores(way)
    let heads = try #require(SpaceTable.small.first { $0.name == "head" })
    let move = stores.move { step in
      guard step == .compare else { return }
      // As an author's head would be that another one's took the place of.
      try stores.to.updateRows(of: .home) { _, rows in
        let left = try rows.rows(of: heads).dropLast()
        try rows.replaceRows(of: heads, with: Array(left))
      }
    }
    let error = try Planted.with(bug) { () -> SpaceMoveError? in
      do {
        try move.run()
        return nil
      } catch let error as SpaceMoveError {
        return error
      }
    }
    let isServed = try phases(stores) == [.moved, .served]
    #expect(isServed || error?.code == .differs)
    // The next run writes it anew.
    if !isServed { try stores.move().run() }
    let isWhole = try stores.to.summary(of: .home).heads == stores.from.summary(of: .home).heads
    if !isWhole { try stores.to.removeHome() }
    return !isWhole
  }

  @Test(arguments: MoveWay.across)
  func `INV-03: a copy that is not compared may be another`(_ way: MoveWay) throws {
    #expect(try servesOther(.moveUncompared, way))
    #expect(try !servesOther(nil, way))
  }

  /// Whether nobody serves the space after a kill and a second run.
  private func servesNowhere(_ bug: Planted?) throws -> Bool {
    let stores = try MovingStores(.fileToFile)
    _ = try? Planted.with(bug) {
      try stores.move { if $0 == .open { throw Killed() } }.run()
    }
    try stores.move().run()
    return try !phases(stores).contains(.served)
  }

  @Test func `INV-09: a space that is gone before it is opened elsewhere is served nowhere`() throws
  {
    #expect(try servesNowhere(.goneEarly))
    #expect(try !servesNowhere(nil))
  }

  @Test func `each of them is looked for here`() {
    #expect(Planted.ofMoves == [.freezeForgotten, .moveUncompared, .goneEarly])
  }
}

extension MovableStore {
  /// So that the doctor finds nothing of it.
  fileprivate func removeHome() throws {
    _ = try removeSpace(.home)
    while try removeRemains(rows: 1_000, contentBytes: 1 << 30) {}
  }
}
#endif
