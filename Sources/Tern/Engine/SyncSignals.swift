import Synchronization
import TernCore

/// What wakes a listening engine: at most one of each kind, the latest.
///
/// A remote announces positions at its own pace, an engine takes them at another; what lies between
/// does not grow (INV-10).
package final class SyncSignals: Sendable {
  package enum Signal: Sendable {
    case localWrite
    case remotePosition(UInt64)
    /// With the number of the refusal after which it was waited.
    case mayAskAgain(Int)
    case streamEnded(RemoteError)
    /// The stream has lasted for a while.
    case streamHolds
    /// Somebody wants a sync now.
    case asked
    /// There may be a route, and it is another than before.
    case networkChanged
  }

  /// What ends a wait after a failure.
  enum WaitEnd: Equatable, Sendable {
    case waited
    case networkChanged
    /// - Parameter isInPause: whether the remote wants to be left alone still. That ends no wait.
    case asked(isInPause: Bool)
  }

  /// Yields when there is something to take; ends with ``finish()``.
  let wakes: AsyncStream<Void>
  private let waker: AsyncStream<Void>.Continuation
  private let waiting = Mutex(Waiting())

  private struct Waiting {
    var localWrite = false
    var position: UInt64?
    /// After how many looks for other processes' writes a position is told of.
    var looks = 0
    var refusal: Int?
    var end: RemoteError?
    var streamHolds = false
    var asked = false
    var networkChanged = false
    /// The number of the newest wait, and how it stands.
    var wait = 0
    var isPaused = false
    var hasWaited = false
  }

  package init() {
    (wakes, waker) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
  }

  package func send(_ signal: Signal) {
    waiting.withLock { waiting in
      switch signal {
      case .localWrite: waiting.localWrite = true
      case .remotePosition(let position): waiting.position = position
      // An older refusal's time may come later than a newer one's.
      case .mayAskAgain(let refusal): waiting.refusal = max(waiting.refusal ?? refusal, refusal)
      case .streamEnded(let error): waiting.end = error
      case .streamHolds: waiting.streamHolds = true
      case .asked: waiting.asked = true
      case .networkChanged: waiting.networkChanged = true
      }
    }
    waker.yield()
  }

  /// The end of a stream comes after what the stream said.
  package func take() -> Signal? {
    waiting.withLock { waiting in
      if waiting.localWrite.take() { return .localWrite }
      if waiting.looks == 0, let position = waiting.position.take() {
        return .remotePosition(position)
      }
      if let refusal = waiting.refusal.take() { return .mayAskAgain(refusal) }
      if waiting.networkChanged.take() { return .networkChanged }
      if waiting.asked.take() { return .asked }
      if waiting.streamHolds.take() { return .streamHolds }
      return waiting.end.take().map(Signal.streamEnded)
    }
  }

  /// Tells of positions only after so many looks from now on.
  func hold(looks: Int) {
    waiting.withLock { $0.looks = looks }
  }

  /// A look for other processes' writes has come.
  func look() {
    let isOver = waiting.withLock { waiting in
      if waiting.looks == 0 { return false }
      waiting.looks -= 1
      return waiting.looks == 0 && waiting.position != nil
    }
    if isOver { waker.yield() }
  }

  /// - Returns: the wait's number.
  func beginWait(isPaused: Bool) -> Int {
    waiting.withLock { waiting in
      waiting.wait += 1
      (waiting.isPaused, waiting.hasWaited) = (isPaused, false)
      return waiting.wait
    }
  }

  /// From now on a wait may end early.
  func endPause(of wait: Int) {
    waiting.withLock { if $0.wait == wait { $0.isPaused = false } }
    waker.yield()
  }

  func endWait(_ wait: Int) {
    waiting.withLock { if $0.wait == wait { $0.hasWaited = true } }
    waker.yield()
  }

  /// While a run waits after a failure, in place of ``take()``.
  func takeEnd() -> WaitEnd? {
    waiting.withLock { waiting in
      if waiting.hasWaited { return .waited }
      if !waiting.isPaused, waiting.networkChanged.take() { return .networkChanged }
      return waiting.asked.take() ? .asked(isInPause: waiting.isPaused) : nil
    }
  }

  func finish() {
    waker.finish()
  }
}

extension Bool {
  /// What it was; it is `false` from now on.
  fileprivate mutating func take() -> Bool {
    defer { self = false }
    return self
  }
}
