@_spi(Rehearsal) import Tern
import TernTesting

/// How the processes of a round die.
package enum ScanKill: Hashable, Sendable {
  package enum Program: String, Sendable { case add, run }

  /// The program dies the how-manieth time that it is at a point.
  case at(CrashPoint, Int, Program)
  /// Several times, at moments that a seed draws.
  case atRandom(Int, seed: UInt64)

  /// Every point once.
  package static let boundaries: [ScanKill] =
    [.jobAfterCopy, .jobBeforeEnqueueCommit, .jobAfterEnqueueCommit].map { .at($0, 1, .add) }
    + [
      .at(.jobAfterClaim, 1, .run),
      // The first step prepares the photo, the second one sends it.
      .at(.jobBeforeStepCommit, 2, .run), .at(.jobAfterStepCommit, 2, .run),
      .at(.jobBeforeFinishCommit, 1, .run), .at(.jobAfterFinishCommit, 1, .run),
      .at(.jobBeforeUnlink, 1, .run),
    ] + CrashPoint.ofScan.map { .at($0, 1, .run) }

  /// The same points later: in other steps, at other events, in the clean-up.
  package static let laterBoundaries: [ScanKill] =
    [1, 3, 5, 6, 7].flatMap { count -> [ScanKill] in
      [.at(.jobBeforeStepCommit, count, .run), .at(.jobAfterStepCommit, count, .run)]
    } + [
      .at(.jobBeforeEnqueueCommit, 1, .run), .at(.jobAfterEnqueueCommit, 1, .run),
      .at(.jobAfterClaim, 2, .run), .at(.jobBeforeFinishCommit, 2, .run),
      .at(.jobAfterFinishCommit, 2, .run), .at(.jobBeforeUnlink, 2, .run),
      .at(.scanAfterEvent, 4, .run),
    ]

  func armed(_ program: Program) -> String? {
    guard case .at(let point, let count, program) = self else { return nil }
    return "\(point.rawValue):\(count)"
  }
}

extension ScanKill: CustomStringConvertible {
  package var description: String {
    switch self {
    case .at(let point, let count, let program): "\(program) \(point.rawValue):\(count)"
    case .atRandom(let count, let seed): "\(count) random kills, seed \(seed)"
    }
  }
}
