@_spi(Rehearsal) import Tern
import TernTesting

/// Who of a fleet dies, when.
package enum KillPlan: Sendable {
  /// At a point, whenever one of these counts is reached in a life of its own.
  case at(CrashPoint, [Fleet.Member: [Int]])
  /// From outside, one after another.
  case atRandom([Kill])

  package struct Kill: Sendable {
    package var victim: Fleet.Member
    /// After the last victim was started again.
    package var delay: Duration
  }

  /// Several deaths at one point: of both devices, or of the server.
  package init(_ point: CrashPoint) {
    switch point {
    case .serverBeforeCommit, .serverAfterCommit: self = .at(point, [.server: [1, 2, 5]])
    default: self = .at(point, [.a: [1, 4], .b: [2]])
    }
  }

  package init(count: Int, seed: UInt64) {
    var generator = SeededGenerator(seed: seed)
    self = .atRandom(
      (0..<count).map { _ in
        Kill(
          victim: Fleet.Member.allCases.randomElement(using: &generator)!,
          delay: .milliseconds(Int.random(in: 1...300, using: &generator)))
      })
  }

  package var count: Int {
    switch self {
    case .at(_, let counts): counts.values.reduce(0) { $0 + $1.count }
    case .atRandom(let kills): kills.count
    }
  }

  /// The count at which a member dies in a life, counted from 0.
  func armed(_ member: Fleet.Member, life: Int) -> String? {
    guard case .at(let point, let counts) = self, let counts = counts[member],
      life < counts.count
    else { return nil }
    return "\(point.rawValue):\(counts[life])"
  }
}

extension KillPlan: CustomStringConvertible {
  package var description: String {
    switch self {
    case .at(let point, _): "kills at \(point.rawValue)"
    case .atRandom(let kills): "\(kills.count) random kills"
    }
  }
}
