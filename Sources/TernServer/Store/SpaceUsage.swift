#if Server
/// What a space stores.
public struct SpaceUsage: Hashable, Sendable {
  /// Of operations and of parts of snapshots, unpacked, as they are stored. Uploads that are being
  /// removed count until they are gone; ``keptBytes`` don't.
  public var bytes: Int
  /// Of operations that were trimmed, and of snapshots that gave way, while they can be brought
  /// back and until they are removed. No quota counts them.
  public var keptBytes = 0
  /// Those that were trimmed do not count.
  public var operations: Int
  /// What an operator gave this space.
  public var quota: SpaceQuota

  public init(bytes: Int = 0, operations: Int = 0, quota: SpaceQuota = SpaceQuota()) {
    self.bytes = bytes
    self.operations = operations
    self.quota = quota
  }
}

/// Until when an operator's wishes for a space hold: the server's clock, milliseconds since 1970.
public struct SpaceDeadlines: Hashable, Sendable {
  /// Until when it takes bases.
  public var refill: Int64?
  /// Until when it trims nothing.
  public var trimming: Int64?

  public init(refill: Int64? = nil, trimming: Int64? = nil) {
    self.refill = refill
    self.trimming = trimming
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
