import Synchronization

/// What is still to be done wrong.
final class Mischief: Sendable {
  private let state: Mutex<State>

  private struct State {
    var list: [Misbehaviour]
    /// When each time of refusals began, in milliseconds since 1970.
    var began: [Misbehaviour.Kind: Int64] = [:]
  }

  init(_ list: [Misbehaviour]) {
    state = Mutex(State(list: list))
  }

  func replace(with list: [Misbehaviour]) { state.withLock { $0 = State(list: list) } }

  /// Whether it is to happen now, which counts as once; the value it was given.
  func take(_ kind: Misbehaviour.Kind) -> Misbehaviour? {
    state.withLock { Self.take(kind, from: &$0) }
  }

  /// The refusal that is due, with what it says of the time that is left.
  func refusal(now: Int64) -> Problem? {
    state.withLock { state in
      for kind in [.limitSeconds, .limitDate, .limitBody, .limitBoth, .limitBare]
        as [Misbehaviour.Kind]
      {
        let began = state.began[kind] ?? now
        let seconds = state.list.first(where: { $0.kind == kind })?.value ?? 1
        guard began + Int64(seconds) * 1000 > now, Self.take(kind, from: &state) != nil
        else { continue }
        state.began[kind] = began
        var problem = Problem(429, "RATE_LIMITED", "too many scans at once")
        problem.isRetryable = true
        problem.retryAfterMilliseconds = began + Int64(seconds) * 1000 - now
        problem.isInBody = kind == .limitBody || kind == .limitBoth
        problem.header =
          switch kind {
          case .limitSeconds, .limitBoth: .seconds
          case .limitDate: .date
          default: .none
          }
        return problem
      }
      return nil
    }
  }

  private static func take(
    _ kind: Misbehaviour.Kind, from state: inout State
  ) -> Misbehaviour? {
    guard let index = state.list.firstIndex(where: { $0.kind == kind && $0.count != 0 })
    else { return nil }
    state.list[index].count = state.list[index].count.map { $0 - 1 }
    return state.list[index]
  }
}
