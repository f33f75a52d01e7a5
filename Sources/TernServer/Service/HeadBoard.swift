#if Server
import Synchronization
import TernCore

/// Who listens to which space, in this process.
final class HeadBoard: Sendable {
  private struct Listeners {
    /// The streams of all spaces.
    var count = 0
    /// How many there have ever been.
    var numbered = 0
    /// By space, in the order in which they came, so that a simulation repeats.
    var spaces: [SpaceName: [HeadListener]] = [:]
    /// The streams of several spaces, whose listeners are among those of the spaces too.
    var ofSeveral: [ObjectIdentifier: SpacesListener] = [:]
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
    let listener = HeadListener(continuation, number: takeNumber(), by: grant)
    if let refusal = add(listener, to: space, limits) { throw refusal }
    continuation.onTermination = { [weak self, weak listener] _ in
      guard let self, let listener else { return }
      remove(listener, from: space)
    }
    return (listener, heads)
  }

  /// For a stream that comes.
  func takeNumber() -> Int {
    listeners.withLock { listeners in
      defer { listeners.numbered += 1 }
      return listeners.numbered
    }
  }

  /// - Returns: why it is not on the board.
  func add(_ listener: HeadListener, to space: SpaceName, _ limits: ServerLimits) -> RemoteError? {
    listeners.withLock { listeners in
      if listeners.isClosed { return Self.ending }
      if listeners.spaces[space]?.count ?? 0 >= limits.streamsPerSpace {
        return full("streamsPerSpace: the space has \(limits.streamsPerSpace)")
      }
      if !listener.isOfSeveral {
        if listeners.count >= limits.streams {
          return full("streams: the server has \(limits.streams)")
        }
        listeners.count += 1
      }
      listeners.spaces[space, default: []].append(listener)
      return nil
    }
  }

  /// Counts a stream of several spaces, whose listeners are added one by one.
  func add(_ spaces: SpacesListener, _ limits: ServerLimits) throws(RemoteError) {
    let refusal = listeners.withLock { listeners -> RemoteError? in
      if listeners.isClosed { return Self.ending }
      if listeners.count >= limits.streams {
        return full("streams: the server has \(limits.streams)")
      }
      listeners.count += 1
      listeners.ofSeveral[ObjectIdentifier(spaces)] = spaces
      return nil
    }
    if let refusal { throw refusal }
  }

  private static let ending = RemoteError(
    .unavailable, "the server is ending; listen again", retryAfter: .seconds(1))

  private func full(_ limit: String) -> RemoteError {
    RemoteError(
      .unavailable, "\(limit) open event streams, its limit; try again later",
      retryAfter: .seconds(30))
  }

  /// From now on nobody may listen. Returns what ends each stream that there is; the client is to
  /// wait for so long before it listens again.
  func close() -> [@Sendable (_ returnDelay: Duration) -> Void] {
    listeners.withLock { $0.isClosed = true }
    return endings
  }

  private var endings: [@Sendable (_ returnDelay: Duration) -> Void] {
    let (single, several) = listeners.withLock { listeners in
      (listeners.spaces.values.joined().filter { !$0.isOfSeveral }, listeners.ofSeveral.values)
    }
    var endings: [@Sendable (Duration) -> Void] = []
    for listener in single { endings.append { listener.finish(returnDelay: $0) } }
    for listener in several { endings.append { listener.finish(returnDelay: $0) } }
    return endings
  }

  /// The streams of several spaces.
  var ofSeveral: [SpacesListener] { listeners.withLock { Array($0.ofSeveral.values) } }

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
    for (number, end) in endings.enumerated() { end(.milliseconds(100 * (1 + number % 50))) }
  }

  /// Ends the streams of a space.
  func finish(_ space: SpaceName) {
    for listener in all(of: space) { listener.finish() }
  }

  private func all(of space: SpaceName) -> [HeadListener] {
    listeners.withLock { $0.spaces[space] ?? [] }
  }

  func remove(_ listener: HeadListener, from space: SpaceName) {
    listeners.withLock { listeners in
      guard let index = listeners.spaces[space]?.firstIndex(where: { $0 === listener }) else {
        return
      }
      listeners.spaces[space]?.remove(at: index)
      if !listener.isOfSeveral { listeners.count -= 1 }
      if listeners.spaces[space]?.isEmpty == true { listeners.spaces[space] = nil }
    }
  }

  func remove(_ spaces: SpacesListener) {
    listeners.withLock { listeners in
      let removed = listeners.ofSeveral.removeValue(forKey: ObjectIdentifier(spaces))
      if removed != nil { listeners.count -= 1 }
    }
  }

  /// How many streams there are.
  var count: Int { listeners.withLock { $0.count } }

  /// How many listeners a space has.
  func count(of space: SpaceName) -> Int { all(of: space).count }
}
#endif
