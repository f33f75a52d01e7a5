#if Server
import Synchronization

/// One reader of a space's heads, which is given only the newest that it hasn't taken.
final class HeadListener: Sendable {
  /// Why it ends.
  enum Ending {
    /// Its space is gone, its grant holds no more, or its reader left.
    case over
    /// The space is not where the reader was told.
    case wentBack
    /// The reader is to listen again after so long.
    case returning(Duration)
  }

  private let newest = Mutex(SpaceHead())
  private let delay = Mutex<Duration?>(nil)
  private let give: @Sendable (SpaceHead) -> Void
  private let end: @Sendable (Ending) -> Void
  /// By what it listens; `nil` for one of this process itself.
  let grant: Grant?
  /// Whether its reader listens to several spaces at once, each by a listener of its own.
  let isOfSeveral: Bool

  /// How many streams there were before it.
  let number: Int

  convenience init(
    _ continuation: AsyncStream<SpaceHead>.Continuation, number: Int, by grant: Grant?
  ) {
    self.init(number: number, by: grant, isOfSeveral: false) {
      continuation.yield($0)
    } end: { _ in
      continuation.finish()
    }
  }

  /// - Parameters:
  ///   - give: told of heads, one after the other.
  ///   - end: told of the end, perhaps more than once.
  init(
    number: Int, by grant: Grant?, isOfSeveral: Bool, give: @escaping @Sendable (SpaceHead) -> Void,
    end: @escaping @Sendable (Ending) -> Void
  ) {
    (self.number, self.grant, self.isOfSeveral) = (number, grant, isOfSeveral)
    (self.give, self.end) = (give, end)
  }

  /// What it was told last.
  var told: SpaceHead { newest.withLock { $0 } }

  /// Wakes the reader with the newest head so far: two pushes tell theirs in either order.
  func offer(_ head: SpaceHead) {
    newest.withLock {
      if head.position > $0.position { $0 = head }
      give($0)
    }
  }

  /// The same, where it is news.
  func advance(to head: SpaceHead) {
    newest.withLock {
      guard head.position > $0.position else { return }
      $0 = head
      give(head)
    }
  }

  /// Tells of a head that no longer follows from what was told, as it is, and ends the stream: the
  /// device asks anew where the space is.
  func goBack(to head: SpaceHead) {
    newest.withLock {
      $0 = head
      give(head)
    }
    end(.wentBack)
  }

  /// Wakes the reader without news.
  func remind() { offer(SpaceHead()) }

  /// How long the reader is to wait before it listens again, where that was said.
  var returnDelay: Duration? { delay.withLock { $0 } }

  /// Ends the reader's stream, after what it hasn't taken.
  func finish(returnDelay: Duration? = nil) {
    if let returnDelay { delay.withLock { $0 = returnDelay } }
    end(returnDelay.map { .returning($0) } ?? .over)
  }
}
#endif
