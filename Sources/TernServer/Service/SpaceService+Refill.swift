#if Server
import TernCore

/// A space that lost what nobody can push any more takes a base once an operator says that it did.
extension SpaceService {
  /// Lets a space take bases for ``ServerLimits/refillTime``, durably; `false` ends that. For an
  /// operator who knows that the space lost operations.
  ///
  /// - Returns: until when, in milliseconds since 1970, where it is open.
  /// - Throws: ``RemoteError`` with `not-found` where there is no such space; the store's errors.
  @discardableResult
  public func refill(_ space: SpaceName, isOpen: Bool = true) throws -> Int64? {
    try store.update(space) { transaction in
      try checkIsThere(space, transaction)
      var deadlines = try transaction.deadlines
      deadlines.refill =
        isOpen ? clock.nowMilliseconds + limits.refillTime.milliseconds : nil
      try transaction.set(deadlines)
      return deadlines.refill
    }
  }

  /// Whether the space was there before this transaction, which would make it.
  func checkIsThere(_ space: SpaceName, _ transaction: any SpaceTransaction) throws {
    guard try transaction.spacesBefore == nil else {
      throw RemoteError(.notFound, "there is no space \(space); see 'tern space list'")
    }
  }

  /// What was opened while the clock was ahead is not open until that date.
  func isRefilled(_ transaction: any SpaceTransaction) throws -> Bool {
    guard let until = try transaction.deadlines.refill else { return false }
    let left = until - clock.nowMilliseconds
    return left > 0 && left <= limits.refillTime.milliseconds
  }
}
#endif
