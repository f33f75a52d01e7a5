import TernCore

/// Why an operation is in the log and is not, or not whole, in the state.
public enum PendingReason: String, Hashable, Sendable, Codable, CodingKeyRepresentable, CaseIterable
{
  /// This version of Tern can't read it, or it breaks a limit. All of it waits for a later version.
  case unreadable
  /// Its time is more than five minutes ahead. All of it waits until the clock comes near.
  case clock
  /// It wrote to a table or a column that this schema version does not have, or with a key that the
  /// key column's type would change. That part of it waits for a later schema version.
  case schema
}

/// An operation that waits. Where several belong together and all wait, it is the last of them.
public struct PendingOperation: Hashable, Sendable, Codable {
  /// Its author.
  public var replica: ReplicaID
  public var sequence: UInt64
  public var reason: PendingReason
  /// More about the reason, for people. Can be empty.
  public var detail: String

  package init(replica: ReplicaID, sequence: UInt64, reason: PendingReason, detail: String = "") {
    self.replica = replica
    self.sequence = sequence
    self.reason = reason
    self.detail = detail
  }
}

extension PendingOperation: CustomStringConvertible {
  public var description: String {
    "operation \(sequence) of replica \(replica): \(detail.isEmpty ? reason.inWords : detail)"
  }
}

/// The operations that are in the log and wait, by reason. They are passed on to other replicas all
/// the same. Operations that belong together and wait whole count as one.
public struct PendingOperations: Hashable, Sendable, Codable {
  /// Without reasons for which none waits.
  public var counts: [PendingReason: Int]
  /// One of them: of those that wait whole, if there are any.
  public var first: PendingOperation?

  package init(counts: [PendingReason: Int] = [:], first: PendingOperation? = nil) {
    self.counts = counts
    self.first = first
  }

  public var count: Int { counts.values.reduce(0, +) }
  public var isEmpty: Bool { counts.isEmpty }
  public subscript(reason: PendingReason) -> Int { counts[reason] ?? 0 }
}

extension PendingOperations: CustomStringConvertible {
  /// For people, in a line; empty where none waits.
  public var description: String {
    let reasons = PendingReason.allCases.filter { self[$0] > 0 }
    if reasons.isEmpty { return "" }
    let counts = reasons.map { "\(self[$0]) \($0.inWords)" }.joined(separator: ", ")
    return "operations wait: \(counts)" + (first.map { " (\($0))" } ?? "")
  }
}

extension PendingReason {
  var inWords: String {
    switch self {
    case .unreadable: "for a newer Tern"
    case .clock: "for the clock"
    case .schema: "for a newer schema"
    }
  }
}
