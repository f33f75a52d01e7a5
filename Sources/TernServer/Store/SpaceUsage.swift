#if Server
import Foundation

/// Operations that are stored and not trimmed, as a quota counts them.
public struct CountedOperations: Hashable, Sendable {
  public var operations: Int
  /// Unpacked, as they are stored.
  public var bytes: Int

  public init(operations: Int = 0, bytes: Int = 0) {
    self.operations = operations
    self.bytes = bytes
  }

  init(_ new: [NewOperation]) {
    self.init(operations: new.count, bytes: new.reduce(0) { $0 + $1.operation.bytes.count })
  }

  static func + (one: CountedOperations, other: CountedOperations) -> CountedOperations {
    .init(operations: one.operations + other.operations, bytes: one.bytes + other.bytes)
  }

  static func - (one: CountedOperations, other: CountedOperations) -> CountedOperations {
    .init(operations: one.operations - other.operations, bytes: one.bytes - other.bytes)
  }

  /// Whether it is no more than `most`, each of the two.
  func fits(in most: CountedOperations) -> Bool {
    operations <= most.operations && bytes <= most.bytes
  }
}

/// What a space stores.
public struct SpaceUsage: Hashable, Sendable {
  /// Of operations and of parts of snapshots, unpacked, as they are stored. Uploads that are being
  /// removed count until they are gone; ``keptBytes`` don't.
  public var bytes: Int
  /// Of operations that were trimmed, and of snapshots that gave way, while they can be brought
  /// back and until they are removed. No quota counts them.
  public var keptBytes = 0
  /// Those that were trimmed do not count, nor do places of bases.
  public var operations: Int
  /// Of banned authors, among ``bytes`` and ``operations``. No quota counts them.
  public var banned = CountedOperations()
  /// What an operator gave this space.
  public var quota: SpaceQuota

  /// What its quota counts.
  public var counted: CountedOperations {
    CountedOperations(operations: operations, bytes: bytes) - banned
  }

  public init(bytes: Int = 0, operations: Int = 0, quota: SpaceQuota = SpaceQuota()) {
    self.bytes = bytes
    self.operations = operations
    self.quota = quota
  }
}

/// Until when an operator's wishes for a space hold, or since when, by the server's clock.
public struct SpaceDeadlines: Hashable, Sendable {
  /// Until when it takes bases.
  public var refill: Date?
  /// Until when it trims nothing.
  public var trimming: Date?
  /// Since when it takes nothing from devices; `nil` where it does.
  public var suspended: Date?

  public init(refill: Date? = nil, trimming: Date? = nil, suspended: Date? = nil) {
    self.refill = refill
    self.trimming = trimming
    self.suspended = suspended
  }
}

/// What one space may store in place of ``ServerLimits/bytesPerSpace``,
/// ``ServerLimits/operationsPerSpace`` and ``ServerLimits/authorsPerMember``, and a member of that.
public struct SpaceQuota: Hashable, Sendable {
  /// What can be stored of each number.
  public static let range = 0...(1 << 53)
  /// What ``share`` can be.
  public static let shares = 1...100

  /// The most bytes of operations and of snapshots, unpacked; `nil` is the server's limit.
  public var bytes: Int?
  /// The most operations that are not trimmed; `nil` is the server's limit.
  public var operations: Int?
  /// The most replica ids of one member; `nil` is the server's limit.
  public var authors: Int?
  /// How much of the bytes and operations one member may use, in percent, where the space has
  /// tokens of others; `nil` is half of what the others leave.
  public var share: Int?

  public init(
    bytes: Int? = nil, operations: Int? = nil, authors: Int? = nil, share: Int? = nil
  ) {
    self.bytes = bytes
    self.operations = operations
    self.authors = authors
    self.share = share
  }
}
#endif
