import Synchronization

/// Hands an answer's head, or why there is none, to the one task that waits for it.
final class HeadPromise: Sendable {
  private enum State {
    /// Nobody waits yet and nothing is known.
    case empty
    case waiting(CheckedContinuation<ResponseHead, any Error>)
    /// Known before anybody waited: a cancellation.
    case known(Result<ResponseHead, any Error>)
    /// Handed over.
    case delivered
  }

  private let state = Mutex(State.empty)

  /// Calls `start` once it is ready for the answer, unless the answer is known already.
  func wait(start: () -> Void) async throws -> ResponseHead {
    try await withCheckedThrowingContinuation { continuation in
      let known: Result<ResponseHead, any Error>? = state.withLock { state in
        switch state {
        case .empty:
          state = .waiting(continuation)
          return nil
        case .known(let result):
          state = .delivered
          return result
        case .waiting, .delivered:
          preconditionFailure("a second task waits for the head of one exchange")
        }
      }
      if let known { continuation.resume(with: known) } else { start() }
    }
  }

  /// Only the first call counts.
  ///
  /// - Returns: Whether this call was the first.
  @discardableResult
  func fulfil(_ result: Result<ResponseHead, any Error>) -> Bool {
    let (isFirst, waiting) = state.withLock {
      state -> (Bool, CheckedContinuation<ResponseHead, any Error>?) in
      switch state {
      case .empty:
        state = .known(result)
        return (true, nil)
      case .waiting(let continuation):
        state = .delivered
        return (true, continuation)
      case .known, .delivered:
        return (false, nil)
      }
    }
    waiting?.resume(with: result)
    return isFirst
  }
}
