#if Server
/// What a space stores.
public struct SpaceUsage: Hashable, Sendable {
  /// Of operations and of parts of snapshots, unpacked, as they are stored. Those that are being
  /// removed count until they are gone.
  public var bytes: Int
  /// Operations that have their bytes: those that were trimmed do not count.
  public var operations: Int
  /// What an operator gave this space.
  public var quota: SpaceQuota

  public init(bytes: Int = 0, operations: Int = 0, quota: SpaceQuota = SpaceQuota()) {
    self.bytes = bytes
    self.operations = operations
    self.quota = quota
  }
}

/// What one space may store in place of ``ServerLimits/bytesPerSpace``,
/// ``ServerLimits/operationsPerSpace`` and ``ServerLimits/authorsPerMember``.
public struct SpaceQuota: Hashable, Sendable {
  /// What can be stored of each number.
  public static let range = 0...(1 << 53)

  /// The most bytes of operations and of snapshots, unpacked; `nil` is the server's limit.
  public var bytes: Int?
  /// The most operations that are not trimmed; `nil` is the server's limit.
  public var operations: Int?
  /// The most replica ids of one member; `nil` is the server's limit.
  public var authors: Int?

  public init(bytes: Int? = nil, operations: Int? = nil, authors: Int? = nil) {
    self.bytes = bytes
    self.operations = operations
    self.authors = authors
  }
}
#endif
