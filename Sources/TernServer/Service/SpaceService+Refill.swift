#if Server
import Foundation
import TernCore

/// A space that lost what nobody can push any more takes a base once an operator says that it did.
extension SpaceService {
  /// Lets a space take bases for ``ServerLimits/refillTime``, durably; `false` ends that. For an
  /// operator who knows that the space lost operations.
  ///
  /// - Returns: until when, where it is open.
  /// - Throws: ``RemoteError`` with `not-found` where there is no such space; the store's errors.
  @discardableResult
  public func refill(_ space: SpaceName, isOpen: Bool = true) throws -> Date? {
    try access.update(space) { space in
      try space.ensureIsThere()
      var deadlines = try space.rows.deadlines
      let until = isOpen ? clock.now(after: limits.refillTime) : nil
      guard deadlines.refill != until else { return until }
      deadlines.refill = until
      try space.rows.set(deadlines)
      try space.record(isOpen ? .openRefill : .closeRefill)
      return deadlines.refill
    }
  }
}
#endif
