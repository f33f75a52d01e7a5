#if Server
import TernCore

/// Which history a space has, and what its store does for it.
///
/// A space that moves to another store takes its epoch along, so that its devices notice nothing.
public struct SpaceStanding: Hashable, Sendable {
  /// By which devices know the history: 32 hexadecimal digits. That of the store, unless the space
  /// came from another one.
  public var epoch: String
  public var phase: SpacePhase
  /// The epoch of the store from which the space came, or to which it goes; `nil` for one that was
  /// made here and is not on its way.
  public var peer: String?

  public init(epoch: String, phase: SpacePhase = .served, peer: String? = nil) {
    self.epoch = epoch
    self.phase = phase
    self.peer = peer
  }
}

/// How far a space's move to another store, or from one, has come.
///
/// Raw values are stored.
public enum SpacePhase: Int, Hashable, Sendable, CaseIterable {
  /// The store serves it, and moves it nowhere.
  case served = 0
  /// The store serves it, while it is copied to another one.
  case leaving = 1
  /// It is read and not written, while the rest of it is copied.
  case frozen = 2
  /// Another store serves it, and this one no more.
  case moved = 3
  /// It is being copied here, and nobody is given anything of it.
  case arriving = 4

  /// The columns of a space's row from which a standing is read, in this order.
  static let columns = "epoch, phase, peer"
  /// In SQL, whether a store gives anybody anything of a space.
  static let isRead = "phase NOT IN (\(Self.moved.rawValue), \(Self.arriving.rawValue))"
}

extension SpaceStanding {
  /// - Throws: ``RemoteError`` with `space-moved`, or with `unavailable` while it is arriving.
  func checkIsRead(_ space: SpaceName) throws(RemoteError) {
    try phase.checkIsRead(space)
  }

  /// - Throws: the same, and ``RemoteError`` with `unavailable` while it is frozen.
  func checkIsWritten(_ space: SpaceName) throws(RemoteError) {
    try phase.checkIsRead(space)
    guard phase == .frozen else { return }
    throw RemoteError(
      .unavailable,
      "space \(space) moves to another store and takes nothing new until that is done; try again",
      retryAfter: .seconds(5))
  }
}

extension SpacePhase {
  /// Whether the store does for it whatever is asked.
  var isServed: Bool { self == .served || self == .leaving }

  /// - Throws: ``RemoteError`` with `space-moved`, or with `unavailable` while it is arriving.
  func checkIsRead(_ space: SpaceName) throws(RemoteError) {
    switch self {
    case .served, .leaving, .frozen: return
    case .moved:
      throw RemoteError(
        .spaceMoved,
        "space \(space) was moved to another store; ask the server that serves that one")
    case .arriving:
      throw RemoteError(
        .unavailable, "space \(space) is being moved here and is not whole yet; try again",
        retryAfter: .seconds(5))
    }
  }
}
#endif
