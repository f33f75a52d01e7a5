#if Server && Rehearsal
import Foundation
import Synchronization
import TernCore

private struct SweepState<T: Sendable> {
  var next: UInt64
  var last: UInt64
  var results: [UInt64: Result<T, SeedError>] = [:]
}

/// What one seed's run threw.
package struct SeedError: Error, CustomStringConvertible {
  package let seed: UInt64
  package let underlying: any Error
  package var description: String { "seed \(seed) failed: \(underlying)" }
}

/// Many seeds, on as many threads as there are processors: worlds share nothing.
package enum SeedSweep {
  /// Runs each seed once.
  ///
  /// - Parameter bug: is in the code of every run.
  /// - Returns: what `run` returned, in the order of the seeds; up to the first that `isLast`, which
  ///   is the same however threads take turns.
  /// - Throws: ``SeedError`` of the least seed that threw.
  package static func run<T: Sendable>(
    _ seeds: ClosedRange<UInt64>, bug: Planted? = nil,
    until isLast: @escaping @Sendable (T) -> Bool = { _ in false },
    _ run: @escaping @Sendable (UInt64) throws -> T
  ) throws -> [T] {
    let state = Mutex(SweepState<T>(next: seeds.lowerBound, last: seeds.upperBound))
    DispatchQueue.concurrentPerform(iterations: ProcessInfo.processInfo.activeProcessorCount) { _ in
      Planted.with(bug) {
        while let seed = state.withLock({ state -> UInt64? in
          guard state.next <= state.last else { return nil }
          state.next += 1
          return state.next - 1
        }) {
          let result = Result { try run(seed) }.mapError { SeedError(seed: seed, underlying: $0) }
          state.withLock { state in
            state.results[seed] = result
            // Seeds before it were all begun.
            if (try? result.get()).map(isLast) ?? true { state.last = min(state.last, seed) }
          }
        }
      }
    }
    return try state.withLock { state in
      try (seeds.lowerBound...state.last).map { try state.results[$0]!.get() }
    }
  }
}
#endif
