#if Server && Rehearsal
import Tern
import TernCore
import TernTesting

/// What the system says of the network, and whether there is a way, which it need not know; by the
/// seed. One thread runs everything here.
final class SimulatedPath: CorrectablePathSource, @unchecked Sendable {
  // Sendable, because only the seeded executor's one thread ever touches it.
  enum Way: Equatable {
    case open, none
    /// A portal answers for everybody.
    case captive
  }

  private let relay = PathRelay(hasRoute: true)
  private let clock: VirtualClock
  private let trace: SimulationTrace
  private(set) var way = Way.open
  /// Every connection breaks with a change of it.
  private(set) var wayChanges = 0
  /// When the path changed last, whoever said so.
  private(set) var changedAt: Int64 = -1
  /// How often what became of requests said otherwise than the system.
  private(set) var corrections = 0
  /// The system says that there is a route, or a request found one since it said otherwise.
  private var mayHaveRoute = true

  init(_ clock: VirtualClock, _ trace: SimulationTrace) {
    (self.clock, self.trace) = (clock, trace)
  }

  /// Nobody reaches it over an expensive network.
  static let endpoint = "https://large.example"

  var path: NetworkPath { relay.path }

  func mayReach(_ endpoint: String) -> Bool { mayHaveRoute && !path.isExpensive }

  /// What is there of what a job's row requires, in the words that are stored.
  func has(_ needs: String) -> Bool {
    switch needs {
    case "": true
    case "any": mayHaveRoute
    case "unmetered", "any \(Self.endpoint)": mayHaveRoute && !path.isExpensive
    default: false
    }
  }

  func changes() -> AsyncStream<NetworkPath> { relay.changes(keeping: self) }

  /// Another network is there, or none, and the system says so, rightly or not.
  func change(hasRoute: Bool, isExpensive: Bool = false, way: Way) {
    let costs = isExpensive ? ", expensive" : ""
    trace.note("the network changes, \(hasRoute ? "with" : "without") a route\(costs): \(way)")
    set(way)
    (mayHaveRoute, changedAt) = (hasRoute, clock.milliseconds)
    relay.change(hasRoute: hasRoute, isExpensive: isExpensive)
  }

  /// The system does not notice.
  func changeUnnoticed(_ way: Way) {
    trace.note("the network changes unnoticed: \(way)")
    set(way)
  }

  private func set(_ way: Way) {
    self.way = way
    wayChanges += 1
  }

  func correct(_ generation: UInt64, hasRoute: Bool, isCaptive: Bool) {
    let before = path
    relay.correct(generation, hasRoute: hasRoute, isCaptive: isCaptive)
    if path == before { return }
    corrections += 1
    trace.note("requests find \(hasRoute ? "a" : "no") route\(isCaptive ? ", but a portal" : "")")
    (mayHaveRoute, changedAt) = (mayHaveRoute || hasRoute, clock.milliseconds)
  }
}
#endif
