import TernCore

/// What became of a replica whose database had been copied or restored from a backup, or whose
/// remote lost what it had: it goes on under another id.
public struct ReplicaIDChange: Hashable, Sendable {
  /// The id under which another copy goes on, or went on, if there is one.
  public let former: ReplicaID
  /// The last operation under ``former`` that is this database's too. What it wrote after that, and
  /// no remote has, is ``current``'s from its number 1 on.
  public let last: UInt64
  /// The id that it has now.
  public let current: ReplicaID

  package init(former: ReplicaID, last: UInt64, current: ReplicaID) {
    (self.former, self.last, self.current) = (former, last, current)
  }
}
