import Synchronization

/// What there is of answers that are still coming, for all open pages.
final class ComingAnswers: Sendable {
  private struct State {
    /// By question.
    var texts: [String: String] = [:]
    var readers: [Int: AsyncStream<Void>.Continuation] = [:]
    var nextReader = 0
  }

  private let state = Mutex(State())

  /// - Parameter text: all that there is.
  func add(_ text: String, to question: String) {
    // Told outside the lock, which a reader that is cancelled takes.
    let readers = state.withLock { state in
      state.texts[question] = text
      return Array(state.readers.values)
    }
    for reader in readers { reader.yield() }
  }

  /// Forgets all others: they are answered, or gone.
  func texts(of waiting: Set<String>) -> [String: String] {
    state.withLock { state in
      state.texts = state.texts.filter { waiting.contains($0.key) }
      return state.texts
    }
  }

  /// An element after something came.
  func news() -> AsyncStream<Void> {
    let (stream, reader) = AsyncStream.makeStream(
      of: Void.self, bufferingPolicy: .bufferingNewest(1))
    let number = state.withLock { state in
      state.nextReader += 1
      state.readers[state.nextReader] = reader
      return state.nextReader
    }
    reader.onTermination = { [self] _ in state.withLock { $0.readers[number] = nil } }
    return stream
  }
}
