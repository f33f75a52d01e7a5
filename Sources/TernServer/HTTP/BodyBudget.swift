#if Server
import Synchronization
import TernCore

/// Counts the bytes of all bodies of one direction that are in memory, and refuses more than a
/// limit of them (INV-10).
final class BodyBudget: Sendable {
  private let refusal: RemoteError
  private let bytes = Mutex(0)

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
  var used: Int { bytes.withLock { $0 } }

  /// What one body counts for, nothing at first. All of them together have `limit` bytes.
  func share(ofAtMost limit: Int) -> BodyShare { BodyShare(self, limit: limit) }

  fileprivate func take(_ count: Int, limit: Int) throws(RemoteError) {
    let hasRoom = bytes.withLock { bytes in
      guard count <= limit - bytes else { return false }
      bytes += count
      return true
    }
    guard hasRoom else { throw refusal }
  }

  fileprivate func give(_ count: Int) { bytes.withLock { $0 -= count } }
}

/// The bytes that one body counts for, until it is released or dropped: an answer may be dropped
/// without having been written.
final class BodyShare: Sendable {
  private let budget: BodyBudget
  private let limit: Int
  private let held = Mutex(0)

  fileprivate init(_ budget: BodyBudget, limit: Int) {
    self.budget = budget
    self.limit = limit
  }

  deinit { release() }

  /// - Throws: ``RemoteError`` with `unavailable` where all bodies would be over the limit; what
  ///   counted before still does.
  func grow(by count: Int) throws(RemoteError) {
    try budget.take(count, limit: limit)
    held.withLock { $0 += count }
  }

  /// Once is enough.
  func release() {
    let count = held.withLock { held in
      defer { held = 0 }
      return held
    }
    budget.give(count)
  }
}
#endif
