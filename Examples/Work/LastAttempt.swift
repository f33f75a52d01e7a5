import TernJobs
import TernNetwork

extension Error {
  /// Whether a job of the default policy would fail for good by this error, so that its handler can end
  /// well instead, with what is to be told. What breaks off counts as a job's does: on this machine, or
  /// where there was one and the same network all the while.
  ///
  /// - Parameters:
  ///   - attempt: which it was, from 1.
  ///   - before: the network's path as the attempt began, and `after` as it is now.
  package func isLast(
    ofAttempt attempt: Int, on before: NetworkPath, then after: NetworkPath
  ) -> Bool {
    if self is CancellationError { return false }
    // Three follow the first.
    let isUsedUp = attempt > 3
    return switch (self as? any AdvisingError)?.advice {
    case .permanent: true
    case .unreachable, .limited: false
    case .interrupted(let isLocal): isUsedUp && (isLocal || (before.hasRoute && before == after))
    case .failed, nil: isUsedUp
    }
  }
}
