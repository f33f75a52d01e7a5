#if Server
import TernCore

extension SpaceService {
  /// Sets what a space may store, durably. A server that has the file open goes by it from the next
  /// push on. What is stored stays, also where it is more.
  ///
  /// - Parameter quota: of numbers in ``SpaceQuota/range``; `nil` is the server's own limit.
  /// - Returns: whether there is such a space.
  /// - Throws: ``RemoteError`` with `malformed` for another number; the store's errors.
  @discardableResult
  public func setQuota(_ quota: SpaceQuota, of space: SpaceName) throws -> Bool {
    guard
      [quota.bytes, quota.operations, quota.authors].allSatisfy({
        SpaceQuota.range.contains($0 ?? 0)
      }), SpaceQuota.shares.contains(quota.share ?? 1)
    else {
      throw RemoteError(
        .malformed,
        "a quota is a number from 0 to \(SpaceQuota.range.upperBound), and a share one from 1 to 100"
      )
    }
    guard try store.spaces().contains(space) else { return false }
    try access.update(space) {
      try $0.ensureIsThere()
      guard try $0.rows.usage.quota != quota else { return }
      try $0.rows.set(quota)
      try $0.record(.setQuota, quota.auditDetails)
    }
    return true
  }

  // MARK: - The disk

  /// Why nothing new is stored at the moment; `nil` while there is room.
  ///
  /// - Parameter bytes: how many are to be stored.
  package func shortage(adding bytes: Int = 0) throws -> String? {
    try reserve.shortage(adding: bytes)
  }
}
#endif
