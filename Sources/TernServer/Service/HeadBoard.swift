#if Server
import Synchronization
import TernCore

/// Who listens to which space, in this process.
final class HeadBoard: Sendable {
  private struct Listeners {
    /// Of all spaces.
    var count = 0
    /// How many there have ever been.
    var numbered = 0
    /// By space, in the order in which they came, so that a simulation repeats.
    var spaces: [SpaceName: [HeadListener]] = [:]
    var isClosed = false
  }

  private let listeners = Mutex(Listeners())

  /// The listener leaves when it is finished, or when its stream is dropped.
  ///
  /// - Throws: ``RemoteError`` with `unavailable`, by the name of the limit, or when it is closed.
  func listen(
    to space: SpaceName, by grant: Grant? = nil, limits: ServerLimits
  ) throws(RemoteError) -> (HeadListener, AsyncStream<SpaceHead>) {
    let (heads, continuation) = AsyncStream.makeStream(
      of: SpaceHead.self, bufferingPolicy: .bufferingNewest(1))
    let listener = try listeners.withLock { listeners throws(RemoteError) in
      if listeners.isClosed {
        throw RemoteError(
          .unavailable, "the server is ending; listen again", retryAfter: .seconds(1))
      }
      if listeners.spaces[space]?.count ?? 0 >= limits.streamsPerSpace {
        throw full("streamsPerSpace: the space has \(limits.streamsPerSpace)")
      }
      if listeners.count >= limits.streams {
        throw full("streams: the server has \(limits.streams)")
      }
      let listener = HeadListener(continuation, number: listeners.numbered, by: grant)
      listeners.count += 1
      listeners.numbered += 1
      listeners.spaces[space, default: []].append(listener)
      return listener
    }
    continuation.onTermination = { [weak self, weak listener] _ in
      guard let self, let listener else { return }
      remove(listener, from: space)
    }
    return (listener, heads)
  }

  private func full(_ limit: String) -> RemoteError {
    RemoteError(
      .unavailable, "\(limit) open event streams, its limit; try again later",
      retryAfter: .seconds(30))
  }

  /// From now on nobody may listen. Returns those who do.
  func close() -> [HeadListener] {
    listeners.withLock { listeners in
      listeners.isClosed = true
      return listeners.spaces.values.flatMap(\.self)
    }
  }

  func publish(_ head: SpaceHead, of space: SpaceName) {
    // Outside the lock: a listener that ends at this moment asks for it.
    for listener in all(of: space) { listener.advance(to: head) }
  }

  /// Who listens to which space, and what it was told last: before what is read after this.
  var streams: [(space: SpaceName, listener: HeadListener, told: SpaceHead)] { streams(of: nil) }

  /// - Parameter spaces: `nil` for all.
  func streams(of spaces: Set<SpaceName>?) -> [(
    space: SpaceName, listener: HeadListener, told: SpaceHead
  )] {
    let found = listeners.withLock { listeners in
      guard let spaces else { return Array(listeners.spaces) }
      return spaces.compactMap { space in listeners.spaces[space].map { (space, $0) } }
    }
    return found.flatMap { space, listeners in listeners.map { (space, $0, $0.told) } }
  }

  /// Ends all streams.
  func finishAll() {
    // Each is to wait another while before it listens again, five seconds at most.
    for (number, stream) in streams.enumerated() {
      stream.listener.finish(returnDelay: .milliseconds(100 * (1 + number % 50)))
    }
  }

  /// Ends the streams of a space.
  func finish(_ space: SpaceName) {
    for listener in all(of: space) { listener.finish() }
  }

  private func all(of space: SpaceName) -> [HeadListener] {
    listeners.withLock { $0.spaces[space] ?? [] }
  }

  private func remove(_ listener: HeadListener, from space: SpaceName) {
    listeners.withLock { listeners in
      guard let index = listeners.spaces[space]?.firstIndex(where: { $0 === listener }) else {
        return
      }
      listeners.spaces[space]?.remove(at: index)
      listeners.count -= 1
      if listeners.spaces[space]?.isEmpty == true { listeners.spaces[space] = nil }
    }
  }

  /// How many listeners there are.
  var count: Int { listeners.withLock { $0.count } }

  /// How many listeners a space has.
  func count(of space: SpaceName) -> Int { all(of: space).count }
}
#endif
