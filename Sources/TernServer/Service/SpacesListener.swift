#if Server
import Synchronization
import TernCore

/// One reader of the heads of all spaces that a credential opens. Of each space it is given only
/// the newest head that it hasn't taken, so what waits for a slow reader is never more than one a
/// space.
///
/// Each space has a ``HeadListener`` of its own on the board, which feeds this.
final class SpacesListener: Sendable {
  enum News: Hashable {
    case head(SpaceHead)
    /// It opens the space no more, or there is none.
    case gone
  }

  private struct State {
    /// By space, those of spaces that aren't there too.
    var grants: [SpaceName: Grant]
    /// Those that are listened to.
    var listeners: [SpaceName: HeadListener] = [:]
    var news: [SpaceName: News] = [:]
    /// What the reader has.
    var told: [SpaceName: SpaceHead] = [:]
    var returnDelay: Duration?
    var isFinished = false
  }

  /// How many streams there were before it.
  let number: Int
  private let state: Mutex<State>
  private let wakes: AsyncStream<Void>.Continuation
  /// Takes a listener off the board.
  private let leave: @Sendable (HeadListener, SpaceName) -> Void

  init(
    _ grants: [Grant], _ wakes: AsyncStream<Void>.Continuation, number: Int,
    leave: @escaping @Sendable (HeadListener, SpaceName) -> Void
  ) {
    let grants = Dictionary(grants.map { ($0.space, $0) }) { first, _ in first }
    state = Mutex(State(grants: grants))
    (self.wakes, self.number, self.leave) = (wakes, number, leave)
  }

  var grants: [Grant] { state.withLock { Array($0.grants.values) } }

  /// The spaces that nobody listens to yet: they aren't there, or have as many streams as they may.
  var waiting: [Grant] {
    state.withLock { state in state.grants.values.filter { state.listeners[$0.space] == nil } }
  }

  /// How long the reader is to wait before it listens again, where that was said.
  var returnDelay: Duration? { state.withLock { $0.returnDelay } }

  /// What happened since it was called last, by name.
  func take() -> [(space: SpaceName, news: News)] {
    state.withLock { state in
      defer { state.news = [:] }
      for (space, news) in state.news {
        state.told[space] = if case .head(let head) = news { head } else { nil }
      }
      return state.news.sorted { $0.key.text < $1.key.text }.map { ($0.key, $0.value) }
    }
  }

  /// Wakes the reader without news.
  func remind() { wakes.yield() }

  /// Ends the reader's stream, after what it hasn't taken.
  func finish(returnDelay: Duration? = nil) {
    let listeners = state.withLock { state in
      defer { state.listeners = [:] }
      if let returnDelay { state.returnDelay = returnDelay }
      state.isFinished = true
      return state.listeners
    }
    for (space, listener) in listeners { leave(listener, space) }
    wakes.finish()
  }

  // MARK: - Spaces that come and go

  /// Has a listener of one of its spaces feed it. Returns whether it still may.
  func add(_ listener: HeadListener, of space: SpaceName) -> Bool {
    state.withLock { state in
      guard !state.isFinished, state.grants[space] != nil, state.listeners[space] == nil else {
        return false
      }
      state.listeners[space] = listener
      return true
    }
  }

  /// A listener of one of its spaces has news.
  func note(_ head: SpaceHead, of space: SpaceName) {
    let isNews = state.withLock { state in
      // One that has just been added is told by whoever reads it first, and by who added it.
      let isTold = state.news[space] == nil && state.told[space] == head
      guard state.listeners[space] != nil, !isTold else { return false }
      state.news[space] = .head(head)
      return true
    }
    if isNews { wakes.yield() }
  }

  /// A listener of one of its spaces has ended.
  func end(_ ending: HeadListener.Ending, of space: SpaceName) {
    switch ending {
    case .over: drop(space)
    // The reader asks anew where that space is, and listens again.
    case .wentBack: finish()
    case .returning(let delay): finish(returnDelay: delay)
    }
  }

  /// From now on it may listen to those of these too that are its holder's. Where they are more
  /// than a stream tells of, it ends, and its client is told when it comes back.
  func gain(_ gained: Set<Grant>, atMost limit: Int) {
    let isTooMany = state.withLock { state in
      guard let own = state.grants.values.first else { return false }
      for grant in gained where grant.id == own.id && grant.credential == own.credential {
        if state.grants[grant.space] == nil { state.grants[grant.space] = grant }
      }
      return state.grants.count > limit
    }
    if isTooMany { finish() }
  }

  /// It may listen to these no more. Where nothing is left, the stream ends.
  func lose(_ lost: [Grant]) {
    for grant in lost {
      let isHeld = state.withLock { state in
        guard state.grants[grant.space] == grant else { return false }
        state.grants[grant.space] = nil
        return true
      }
      if isHeld { drop(grant.space) }
    }
    if state.withLock({ $0.grants.isEmpty }) { finish() }
  }

  private func drop(_ space: SpaceName) {
    let listener = state.withLock { state -> HeadListener? in
      guard let listener = state.listeners.removeValue(forKey: space) else { return nil }
      state.news[space] = state.told[space] == nil ? nil : .gone
      return listener
    }
    guard let listener else { return }
    leave(listener, space)
    wakes.yield()
  }
}
#endif
