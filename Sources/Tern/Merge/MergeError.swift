import Foundation
import TernCore

/// Why operations cannot be merged. Nothing of their page was.
public struct MergeError: Error, Hashable, Sendable {
  package struct Code: Hashable, Sendable {
    package enum Reason: String, Sendable { case gap, timeNotIncreasing, foreignOwn }
    package let reason: Reason

    /// An operation of the replica before this one never arrived.
    package static let gap = Code(reason: .gap)
    /// An operation's time is not after its author's one before.
    package static let timeNotIncreasing = Code(reason: .timeNotIncreasing)
    /// The remote holds operations under this replica's id that this database never made: it is
    /// a copy or was restored.
    package static let foreignOwn = Code(reason: .foreignOwn)
  }

  package let code: Code
  package let replica: ReplicaID
  package let sequence: UInt64

  package init(_ code: Code, _ replica: ReplicaID, _ sequence: UInt64) {
    self.code = code
    self.replica = replica
    self.sequence = sequence
  }
}

extension MergeError: CustomStringConvertible {
  public var description: String {
    switch code {
    case .gap: "operation \(sequence) of replica \(replica) came before the one it follows"
    case .foreignOwn:
      "the remote holds operation \(sequence) of this replica, which this database never made: it "
        + "is a copy or was restored from one"
    default: "operation \(sequence) of replica \(replica) is not later than the one before it"
    }
  }
}

extension MergeError: AdvisingError {
  /// The same operation comes again: the remote, or the copy of the database, has to change first.
  public var advice: FailureAdvice { .permanent }
}

extension MergeError: LocalizedError {}

extension MergeError.Code: CustomStringConvertible {
  package var description: String { reason.rawValue }
}
