#if Server
import Foundation
import TernCore

/// Up to where a replica has merged a space, and when it said so.
public struct Lease: Hashable, Sendable {
  /// What it asked to pull after, and so has.
  public var position: UInt64
  /// When it did, by the server's clock.
  public var renewed: Date

  public init(position: UInt64, renewed: Date) {
    self.position = position
    self.renewed = renewed
  }
}

/// What the marks of a space say of a position.
public enum MarkKind: Hashable, Sendable {
  case stored, trimmed
}

/// Says that everything up to a position was stored, or trimmed, by a time.
public struct PositionMark: Hashable, Sendable {
  public var position: UInt64
  /// By the server's clock.
  public var time: Date

  public init(position: UInt64, time: Date) {
    self.position = position
    self.time = time
  }
}

/// What is served again.
public struct UntrimmedOperations: Hashable, Sendable {
  /// Where ``HorizonRows/trimmed`` is then.
  public var trimmed: UInt64
  /// What a quota counts of it again: nothing of banned authors.
  public var counted: CountedOperations

  public init(trimmed: UInt64, counted: CountedOperations) {
    self.trimmed = trimmed
    self.counted = counted
  }
}

/// What a space whose head is locked still serves, and to whom.
public protocol HorizonRows: AnyObject {
  /// Up to here operations are served no more.
  var trimmed: UInt64 { get throws }

  /// Moves ``trimmed``, never back.
  func trim(through position: UInt64) throws

  /// Counts what was trimmed as ``SpaceUsage/keptBytes``, of so many operations at most. Returns
  /// whether there are more.
  func releaseTrimmed(operations: Int) throws -> Bool

  /// Takes the bytes from operations that ``releaseTrimmed(operations:)`` counted, up to
  /// `position`: of so many at most, of about `contentBytes` and at least of one, so that no
  /// transaction is long. Their places, numbers and digests stay for ever. Returns whether there
  /// are more.
  func removeTrimmed(through position: UInt64, operations: Int, contentBytes: Int) throws -> Bool

  /// Moves ``trimmed`` back to where operations still have their bytes.
  func untrim() throws -> UntrimmedOperations

  func leases() throws -> [ReplicaID: Lease]

  /// Writes a replica's lease; `nil` removes it.
  func set(_ lease: Lease?, of replica: ReplicaID) throws

  /// The oldest first.
  func marks(_ kind: MarkKind) throws -> [PositionMark]

  func add(_ mark: PositionMark, _ kind: MarkKind) throws

  func removeMarks(before position: UInt64, _ kind: MarkKind) throws
}
#endif
