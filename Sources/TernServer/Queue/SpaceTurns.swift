#if Server
/// Who goes on when: so many at one moment, fewer of one space, and spaces in turns. What one space
/// has waiting delays another's by no more than what goes on already.
struct SpaceTurns {
  enum Arrival {
    /// It goes on at once.
    case begins
    case waits
    /// The space has as much waiting as it may.
    case refused
  }

  private struct Lane {
    var ongoing = 0
    /// The tickets, the oldest first.
    var waiting: [UInt64] = []
  }

  private let atOnce: Int
  private let perSpace: Int
  private let waitingPerSpace: Int
  private var ongoing = 0
  private var lanes: [SpaceName: Lane] = [:]
  /// The spaces with something that could go on if there were room, each once, in their turn.
  private var ring: [SpaceName] = []

  init(atOnce: Int, perSpace: Int, waitingPerSpace: Int) {
    (self.atOnce, self.perSpace) = (atOnce, perSpace)
    self.waitingPerSpace = waitingPerSpace
  }

  mutating func arrive(_ ticket: UInt64, of space: SpaceName) -> Arrival {
    var lane = lanes[space] ?? Lane()
    defer { lanes[space] = lane }
    if ongoing < atOnce, lane.ongoing < perSpace {
      ongoing += 1
      lane.ongoing += 1
      return .begins
    }
    guard lane.waiting.count < waitingPerSpace else { return .refused }
    lane.waiting.append(ticket)
    if lane.ongoing < perSpace, lane.waiting.count == 1 { ring.append(space) }
    return .waits
  }

  /// One of the space's has ended. Returns the tickets that go on now.
  mutating func leave(_ space: SpaceName) -> [UInt64] {
    ongoing -= 1
    if var lane = lanes[space] {
      lane.ongoing -= 1
      // It was in the ring already unless it had as much going on as it may.
      if lane.ongoing == perSpace - 1, !lane.waiting.isEmpty { ring.append(space) }
      lanes[space] = lane.ongoing == 0 && lane.waiting.isEmpty ? nil : lane
    }
    var begun: [UInt64] = []
    while ongoing < atOnce, let ticket = beginNext() { begun.append(ticket) }
    return begun
  }

  private mutating func beginNext() -> UInt64? {
    guard !ring.isEmpty else { return nil }
    let space = ring.removeFirst()
    guard var lane = lanes[space], !lane.waiting.isEmpty else {
      fatalError("a space in the ring has something that waits")
    }
    let ticket = lane.waiting.removeFirst()
    ongoing += 1
    lane.ongoing += 1
    if lane.ongoing < perSpace, !lane.waiting.isEmpty { ring.append(space) }
    lanes[space] = lane
    return ticket
  }

  /// Returns whether the ticket waited; it doesn't any more.
  mutating func giveUp(_ ticket: UInt64, of space: SpaceName) -> Bool {
    guard var lane = lanes[space], let index = lane.waiting.firstIndex(of: ticket) else {
      return false
    }
    lane.waiting.remove(at: index)
    if lane.waiting.isEmpty { ring.removeAll { $0 == space } }
    lanes[space] = lane.ongoing == 0 && lane.waiting.isEmpty ? nil : lane
    return true
  }
}
#endif
