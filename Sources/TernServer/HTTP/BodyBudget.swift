#if Server
import Synchronization
import TernCore

/// Counts the bytes of all bodies of one direction that are in memory, and refuses more than a
/// limit of them (INV-10), and of one space more than its part, so that none keeps out the others.
final class BodyBudget: Sendable {
  private struct Counts {
    /// Of all spaces.
    var all = 0
    var spaces: [SpaceName: Int] = [:]
  }

  private let refusal: RemoteError
  private let counts = Mutex(Counts())

  private init(refusal: RemoteError) {
    self.refusal = refusal
  }

  /// Of bodies that come in.
  static func ofRequests() -> BodyBudget {
    BodyBudget(
      refusal: RemoteError(
        .unavailable, "bodyBytesInFlight: the server is receiving much at once; push again later",
        retryAfter: .seconds(1)))
  }

  /// Of bodies that go out.
  static func ofAnswers() -> BodyBudget {
    BodyBudget(
      refusal: RemoteError(
        .unavailable, "answerBytesInFlight: the server is sending much at once; ask again later",
        retryAfter: .seconds(5)))
  }

  /// What counts now.
  var used: Int { counts.withLock { $0.all } }

  /// What one body counts for, nothing at first. All of them together have `limit` bytes, and those
  /// of one space a quarter of that, but no less than the longest.
  func share(of space: SpaceName, ofAtMost limit: Int, longest: Int) -> BodyShare {
    BodyShare(self, space, limit: limit, spaceLimit: max(limit / 4, longest))
  }

  fileprivate func take(_ count: Int, _ space: SpaceName, limit: Int, spaceLimit: Int)
    throws(RemoteError)
  {
    let hasRoom = counts.withLock { counts in
      let held = counts.spaces[space] ?? 0
      guard count <= limit - counts.all, count <= spaceLimit - held else { return false }
      counts.all += count
      counts.spaces[space] = held + count
      return true
    }
    guard hasRoom else { throw refusal }
  }

  fileprivate func give(_ count: Int, _ space: SpaceName) {
    counts.withLock { counts in
      let rest = (counts.spaces[space] ?? 0) - count
      counts.all -= count
      counts.spaces[space] = rest > 0 ? rest : nil
    }
  }
}

/// The bytes that one body counts for, until it is released or dropped: an answer may be dropped
/// without having been written.
final class BodyShare: Sendable {
  private let budget: BodyBudget
  private let space: SpaceName
  private let limit: Int
  private let spaceLimit: Int
  private let held = Mutex(0)

  fileprivate init(_ budget: BodyBudget, _ space: SpaceName, limit: Int, spaceLimit: Int) {
    (self.budget, self.space) = (budget, space)
    (self.limit, self.spaceLimit) = (limit, spaceLimit)
  }

  deinit { release() }

  /// - Throws: ``RemoteError`` with `unavailable` where all bodies, or the space's, would be over
  ///   the limit; what counted before still does.
  func grow(by count: Int) throws(RemoteError) {
    try budget.take(count, space, limit: limit, spaceLimit: spaceLimit)
    held.withLock { $0 += count }
  }

  /// Once is enough.
  func release() {
    let count = held.withLock { held in
      defer { held = 0 }
      return held
    }
    budget.give(count, space)
  }
}
#endif
