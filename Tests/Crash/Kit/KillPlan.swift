@_spi(Rehearsal) import Tern
import TernTesting

/// Who of a fleet dies, when.
package enum KillPlan: Sendable {
  /// At a point, each in a life of its own: where each life ends, as the process is told.
  case at(CrashPoint, [Fleet.Member: [String]])
  /// From outside, one after another.
  case atRandom([Kill], opening: Bool)

  package struct Kill: Sendable {
    package var victim: Fleet.Member
    /// After the last victim was started again.
    package var delay: Duration
  }

  /// Several deaths at one point: of both devices, or of the server.
  package init(_ point: CrashPoint) {
    let name = point.rawValue
    // The replica dies in a migration first, so that its next opening has something to recover.
    let opening = ["\(CrashPoint.libraryMigrating.rawValue):1", name + ":1", name + ":1"]
    let counts: [Fleet.Member: [String]] =
      switch point {
      case .serverBeforeCommit, .serverAfterCommit:
        [.server: [name + ":1", name + ":2", name + ":5"]]
      case .openAfterRecovery: [.a: opening]
      // Only what is no replica yet adopts.
      case .openAfterAdoption: [.b: [name + ":1", name + ":2"]]
      case _ where CrashPoint.ofOpening.contains(point):
        [.a: opening, .b: [name + ":1", name + ":1"]]
      default: [.a: [name + ":1", name + ":4"], .b: [name + ":2"]]
      }
    self = .at(point, counts)
  }

  /// - Parameter opening: whether devices alone die, and most of them while they open their files.
  package init(count: Int, opening: Bool = false, seed: UInt64) {
    var generator = SeededGenerator(seed: seed)
    let victims = opening ? Fleet.Member.devices : Fleet.Member.allCases
    self = .atRandom(
      (0..<count).map { _ in
        Kill(
          victim: victims.randomElement(using: &generator)!,
          delay: .milliseconds(Int.random(in: 1...300, using: &generator)))
      }, opening: opening)
  }

  /// Whether each life's opening has a migration to run, and the first of one device rows to adopt.
  var isOpening: Bool {
    switch self {
    case .at(let point, _): CrashPoint.ofOpening.contains(point)
    case .atRandom(_, let opening): opening
    }
  }

  package var count: Int {
    switch self {
    case .at(_, let counts): counts.values.reduce(0) { $0 + $1.count }
    case .atRandom(let kills, _): kills.count
    }
  }

  /// The point and count at which a member dies in a life, counted from 0.
  func armed(_ member: Fleet.Member, life: Int) -> String? {
    guard case .at(_, let lives) = self, let lives = lives[member], life < lives.count
    else { return nil }
    return lives[life]
  }
}

extension KillPlan: CustomStringConvertible {
  package var description: String {
    switch self {
    case .at(let point, _): "kills at \(point.rawValue)"
    case .atRandom(let kills, false): "\(kills.count) random kills"
    case .atRandom(let kills, true): "\(kills.count) random kills while opening"
    }
  }
}
