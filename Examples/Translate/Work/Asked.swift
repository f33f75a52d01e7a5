import Synchronization

/// Questions that one command asks, in their order: more may come while the first are answered.
final class Asked: Sendable {
  private struct State {
    var new: [String] = []
    var count = 0
    var isWhole = false
  }

  private let state = Mutex(State())
  private let stream: AsyncStream<Void>
  private let signal: AsyncStream<Void>.Continuation

  /// - Parameter ids: all of them, where no more will come.
  init(all ids: [String]? = nil) {
    (stream, signal) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    guard let ids else { return }
    add(ids)
    end()
  }

  var count: Int { state.withLock { $0.count } }

  func add(_ ids: [String]) {
    state.withLock { state in
      state.new += ids
      state.count += ids.count
    }
    signal.yield()
  }

  /// No more will come.
  func end() {
    state.withLock { $0.isWhole = true }
    signal.yield()
  }

  /// Those that came since, and whether more may.
  func take() -> (ids: [String], isWhole: Bool) {
    state.withLock { state in
      defer { state.new = [] }
      return (state.new, state.isWhole)
    }
  }

  /// An element after others came, or will come no more; for one reader.
  var news: AsyncStream<Void> { stream }
}
