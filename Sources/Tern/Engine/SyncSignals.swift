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
  }

  /// Yields when there is something to take; ends with ``finish()``.
  let wakes: AsyncStream<Void>
  private let waker: AsyncStream<Void>.Continuation
  private let waiting = Mutex(Waiting())

  private struct Waiting {
    var localWrite = false
    var position: UInt64?
    var refusal: Int?
    var end: RemoteError?
  }

  package init() {
    (wakes, waker) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
  }

  package func send(_ signal: Signal) {
    waiting.withLock { waiting in
      switch signal {
      case .localWrite: waiting.localWrite = true
      case .remotePosition(let position): waiting.position = position
      case .mayAskAgain(let refusal): waiting.refusal = refusal
      case .streamEnded(let error): waiting.end = error
      }
    }
    waker.yield()
  }

  /// The end of a stream comes after what the stream said.
  package func take() -> Signal? {
    waiting.withLock { waiting in
      if waiting.localWrite {
        waiting.localWrite = false
        return .localWrite
      }
      if let position = waiting.position.take() { return .remotePosition(position) }
      if let refusal = waiting.refusal.take() { return .mayAskAgain(refusal) }
      return waiting.end.take().map(Signal.streamEnded)
    }
  }

  func finish() {
    waker.finish()
  }
}
