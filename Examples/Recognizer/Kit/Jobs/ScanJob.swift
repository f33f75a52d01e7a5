import Synchronization

/// One job: its events, its books, and who listens.
final class ScanJob: Sendable {
  let id: String
  let token: String
  let device: String
  let photoCount: Int
  /// Milliseconds since 1970.
  let created: Int64
  let tokenExpires: Int64
  private let limits: ScanLimits
  private let state: Mutex<State>

  private struct State {
    var books: [BookDocument] = []
    var photosDone = 0
    var isOver = false
    var hasFailed = false
    /// What can still be sent, oldest first; what was sent has the time of it.
    var events: [(event: ScanEvent, sent: Int64?)] = []
    var last: Int64 = 0
    var listeners: [Int: AsyncStream<Wake>.Continuation] = [:]
    var nextListener = 0
  }

  init(
    id: String, token: String, device: String, photoCount: Int, created: Int64,
    tokenExpires: Int64, limits: ScanLimits
  ) {
    (self.id, self.token, self.device) = (id, token, device)
    (self.photoCount, self.created, self.tokenExpires) = (photoCount, created, tokenExpires)
    self.limits = limits
    state = Mutex(State())
  }

  // MARK: What recognition tells

  func tell(_ name: ScanEvent.Name, _ data: String, now: Int64) {
    state.withLock { state in
      guard !state.isOver else { return }
      state.last = max(now, state.last + 1)
      state.events.append((ScanEvent(milliseconds: state.last, name: name, data: data), nil))
      state.isOver = name == .complete || name == .error
      state.hasFailed = name == .error
      for listener in state.listeners.values { listener.yield(.news) }
    }
  }

  /// Whether it is new.
  func add(_ book: BookDocument) -> Bool {
    state.withLock { state in
      guard !state.books.contains(where: { $0.title == book.title && $0.isbn == book.isbn })
      else { return false }
      state.books.append(book)
      return true
    }
  }

  func finishPhoto() -> Int {
    state.withLock { state in
      state.photosDone += 1
      return state.photosDone
    }
  }

  var books: [BookDocument] { state.withLock { $0.books } }

  var status: (name: String, photosDone: Int) {
    state.withLock { state in
      let name =
        state.hasFailed ? "failed" : state.isOver ? "completed" : "processing"
      return (name, state.photosDone)
    }
  }

  // MARK: Streams

  /// Where a stream begins: after the event that the client had last, or, if it does not say which,
  /// after all that was ever sent.
  func beginning(after lastEventID: String?) -> Int64 {
    state.withLock { state in
      let sent = state.events.last { $0.sent != nil }?.event.milliseconds ?? 0
      return lastEventID.flatMap(ScanEvent.milliseconds) ?? sent
    }
  }

  /// The events after `position`, which count as sent from now on, and whether the job is over with
  /// them. How a job ended is told to everybody, however late and however often.
  func take(after position: Int64, now: Int64) -> (events: [ScanEvent], isOver: Bool) {
    state.withLock { state in
      let end = state.isOver ? state.events.last : nil
      state.events.removeAll { $0.sent.map { now - $0 > limits.replayMilliseconds } ?? false }
      if let end, state.events.isEmpty { state.events = [end] }
      var taken: [ScanEvent] = []
      for index in state.events.indices where state.events[index].event.milliseconds > position {
        state.events[index].sent = state.events[index].sent ?? now
        taken.append(state.events[index].event)
      }
      return (taken.isEmpty ? end.map { [$0.event] } ?? [] : taken, state.isOver)
    }
  }

  /// A sign of life, which is not kept.
  func ping(now: Int64) -> ScanEvent {
    state.withLock { state in
      state.last = max(now, state.last + 1)
      return ScanEvent(
        milliseconds: state.last, name: .ping, data: #"{"timestamp":\#(state.last)}"#)
    }
  }

  /// Why a stream looks again for events.
  enum Wake { case news, ping }

  struct Listener {
    var id: Int
    var wakes: AsyncStream<Wake>
    var wake: AsyncStream<Wake>.Continuation
  }

  /// Yields at once and then for every event, until ``leave(_:)`` or ``close()``.
  func listen() -> Listener {
    // One is enough: whatever it says, all new events are looked for.
    let (wakes, continuation) = AsyncStream.makeStream(
      of: Wake.self, bufferingPolicy: .bufferingNewest(1))
    continuation.yield(.news)
    let id = state.withLock { state in
      state.nextListener += 1
      state.listeners[state.nextListener] = continuation
      return state.nextListener
    }
    return Listener(id: id, wakes: wakes, wake: continuation)
  }

  func leave(_ listener: Int) {
    state.withLock { $0.listeners.removeValue(forKey: listener) }?.finish()
  }

  /// Ends every stream.
  func close() {
    for listener in state.withLock({ Array($0.listeners.values) }) { listener.finish() }
  }
}
