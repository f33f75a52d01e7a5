#if Server
import TernCore

/// How far a space and each of its authors are.
public struct SpaceSummary: Hashable, Sendable {
  public var position: UInt64
  public var heads: VersionVector

  public init(position: UInt64 = 0, heads: VersionVector = .init()) {
    self.position = position
    self.heads = heads
  }
}

/// The newest operation of one author in one space.
public struct AuthorHead: Hashable, Sendable {
  public var sequence: UInt64
  public var time: HybridTime
  /// Whether the next operation continues its group.
  public var continues: Bool

  public init(sequence: UInt64, time: HybridTime, continues: Bool) {
    self.sequence = sequence
    self.time = time
    self.continues = continues
  }

  init(_ envelope: Operation.Envelope) {
    self.init(
      sequence: envelope.sequence, time: envelope.time, continues: envelope.continues)
  }
}

/// What identifies an operation in a space.
public struct OperationKey: Hashable, Sendable {
  public var author: ReplicaID
  public var sequence: UInt64

  public init(author: ReplicaID, sequence: UInt64) {
    self.author = author
    self.sequence = sequence
  }
}

/// An operation to be added, with its digest.
public struct NewOperation: Hashable, Sendable {
  public let operation: Operation
  public let digest: OperationDigest

  public init(_ operation: Operation) {
    self.operation = operation
    digest = OperationDigest(operation)
  }

  public var key: OperationKey {
    OperationKey(author: operation.envelope.replica, sequence: operation.envelope.sequence)
  }
}

/// Operations of a space in its order, and what surrounds them.
public struct StoredPage: Hashable, Sendable {
  /// The space's newest position when the page was read.
  public var head: UInt64
  /// The digest of the operation that the page follows; `nil` at 0 and beyond the head.
  public var digestBefore: OperationDigest?
  /// The encoded operations, the first at the position after the one asked for.
  public var operations: [[UInt8]]
  /// The digest of the page's last operation.
  public var lastDigest: OperationDigest?

  public init(
    head: UInt64, digestBefore: OperationDigest? = nil, operations: [[UInt8]] = [],
    lastDigest: OperationDigest? = nil
  ) {
    self.head = head
    self.digestBefore = digestBefore
    self.operations = operations
    self.lastDigest = lastDigest
  }
}
#endif
