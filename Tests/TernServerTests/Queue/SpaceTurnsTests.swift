#if Server
import Testing

@testable import TernServer

/// An expectation can't change a value.
private final class Turns {
  private var turns: SpaceTurns

  init(atOnce: Int = 1, perSpace: Int = 1, waiting: Int = 100) {
    turns = SpaceTurns(atOnce: atOnce, perSpace: perSpace, waitingPerSpace: waiting)
  }

  func arrive(_ ticket: UInt64, of space: SpaceName) -> SpaceTurns.Arrival {
    turns.arrive(ticket, of: space)
  }

  func leave(_ space: SpaceName) -> [UInt64] { turns.leave(space) }

  func giveUp(_ ticket: UInt64, of space: SpaceName) -> Bool { turns.giveUp(ticket, of: space) }
}

@Suite("Queue: the turns of spaces")
struct SpaceTurnsTests {
  private static let third = SpaceName(stored: "third")

  @Test("a space with much waiting delays another's by what goes on alone")
  func next() {
    let turns = Turns()
    #expect(turns.arrive(0, of: .home) == .begins)
    for ticket in 1...64 { #expect(turns.arrive(UInt64(ticket), of: .home) == .waits) }
    #expect(turns.arrive(100, of: .work) == .waits)
    #expect(turns.leave(.home) == [100])
    #expect(turns.leave(.work) == [1])
  }

  @Test("spaces take turns, each in its own order")
  func round() {
    let turns = Turns()
    _ = turns.arrive(0, of: .home)
    for ticket: UInt64 in [1, 2, 3] { _ = turns.arrive(ticket, of: .home) }
    for ticket: UInt64 in [11, 12] { _ = turns.arrive(ticket, of: .work) }
    _ = turns.arrive(21, of: Self.third)
    var (order, space): ([UInt64], SpaceName) = ([], .home)
    while let ticket = turns.leave(space).first {
      order.append(ticket)
      space = ticket > 20 ? Self.third : ticket > 10 ? .work : .home
    }
    #expect(order == [11, 21, 1, 12, 2, 3])
  }

  @Test("one space has no more than its share of what goes on at once")
  func share() {
    let turns = Turns(atOnce: 4, perSpace: 2)
    let arrivals = (0..<4).map { turns.arrive($0, of: .home) }
    #expect(arrivals == [.begins, .begins, .waits, .waits])
    #expect(turns.arrive(10, of: .work) == .begins)
    #expect(turns.leave(.work) == [])
    #expect(turns.leave(.home) == [2])
    #expect(turns.leave(.home) == [3])
    #expect(turns.leave(.home) == [] && turns.leave(.home) == [])
    #expect(turns.arrive(20, of: .home) == .begins)
  }

  @Test("what a space has waiting is limited, and others may still wait")
  func full() {
    let turns = Turns(waiting: 2)
    let arrivals = (0..<4).map { turns.arrive($0, of: .home) }
    #expect(arrivals == [.begins, .waits, .waits, .refused])
    #expect(turns.arrive(10, of: .work) == .waits)
    #expect(turns.leave(.home) == [10])
    #expect(turns.arrive(4, of: .home) == .refused)
    #expect(turns.leave(.work) == [1])
    #expect(turns.arrive(5, of: .home) == .waits)
  }

  @Test("who gives up has no turn")
  func givenUp() {
    let turns = Turns()
    for ticket: UInt64 in [0, 1, 2] { _ = turns.arrive(ticket, of: .home) }
    _ = turns.arrive(10, of: .work)
    #expect(turns.giveUp(10, of: .work))
    #expect(!turns.giveUp(10, of: .work) && !turns.giveUp(0, of: .home))
    #expect(turns.giveUp(1, of: .home))
    #expect(turns.leave(.home) == [2])
    #expect(turns.leave(.home) == [])
    #expect(turns.arrive(11, of: .work) == .begins)
  }
}
#endif
