import Synchronization

/// What is still to be done wrong.
package final class Misdeeds<Kind: MisdeedKind>: Sendable {
  private let state: Mutex<State>

  private struct State {
    var list: [Misdeed<Kind>]
    /// When each time of refusals began, in milliseconds since 1970.
    var began: [Kind: Int64] = [:]
  }

  package init(_ list: [Misdeed<Kind>]) {
    state = Mutex(State(list: list))
  }

  package func replace(with list: [Misdeed<Kind>]) { state.withLock { $0 = State(list: list) } }

  /// Whether it is to happen now, which counts as once; the value it was given.
  package func take(_ kind: Kind) -> Misdeed<Kind>? {
    state.withLock { Self.take(kind, from: &$0) }
  }

  /// Whether a refusal is due, of a kind whose value is for how many seconds from its first one on
  /// everybody is refused: 1 unless said.
  ///
  /// - Returns: the milliseconds that are left of these; counts as once.
  package func refusal(_ kind: Kind, now: Int64) -> Int64? {
    state.withLock { state in
      let began = state.began[kind] ?? now
      let seconds = state.list.first(where: { $0.kind == kind })?.value ?? 1
      let end = began + Int64(seconds) * 1000
      guard end > now, Self.take(kind, from: &state) != nil else { return nil }
      state.began[kind] = began
      return end - now
    }
  }

  private static func take(_ kind: Kind, from state: inout State) -> Misdeed<Kind>? {
    guard let index = state.list.firstIndex(where: { $0.kind == kind && $0.count != 0 })
    else { return nil }
    state.list[index].count = state.list[index].count.map { $0 - 1 }
    return state.list[index]
  }
}
