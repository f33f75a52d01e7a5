import Foundation
import TernCore

/// Why a snapshot was not cut or not loaded. The replica is as it was.
public struct SnapshotError: Error, Hashable, Sendable {
  public struct Code: Hashable, Sendable {
    package enum Reason: String, Sendable {
      case unsupported, largeRows, missingRows, incomplete, schemaMismatch, lacksOperations
      case timeAhead, takesAway, notRefused
    }
    package let reason: Reason

    /// The store can't cut or load snapshots.
    package static let unsupported = Code(reason: .unsupported)
    /// Rows were written here that are too long to travel, and a snapshot would lack them.
    package static let largeRows = Code(reason: .largeRows)
    /// Rows of the state are in no table here, because a migration or a tool took them away, and a
    /// snapshot would lack their values.
    package static let missingRows = Code(reason: .missingRows)
    /// The snapshot ends too early, or its parts are out of order.
    package static let incomplete = Code(reason: .incomplete)
    /// Another schema cut the snapshot, a newer one or one with other keys: loading it would lose
    /// what this one does not know.
    package static let schemaMismatch = Code(reason: .schemaMismatch)
    /// Operations are in this replica's state that the snapshot lacks and the log no longer has.
    package static let lacksOperations = Code(reason: .lacksOperations)
    /// The snapshot says that it holds operations, and lacks what they wrote here: it is damaged,
    /// whoever made it lies, or one of the authors is a copied database that wrote on.
    public static let takesAway = Code(reason: .takesAway)
    /// No snapshot was refused that the app could accept.
    public static let notRefused = Code(reason: .notRefused)
    /// The snapshot's state has times more than five minutes ahead of this clock and the remote's:
    /// what is written here would have to be later still.
    package static let timeAhead = Code(reason: .timeAhead)
  }

  public let code: Code
  /// What is wrong and the way out.
  public let message: String

  package init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }
}

extension SnapshotError: CustomStringConvertible {
  public var description: String { message }
}

extension SnapshotError: LocalizedError {}

extension SnapshotError.Code: CustomStringConvertible {
  public var description: String { reason.rawValue }
}

extension SnapshotError: AdvisingError {
  /// The rows, the app or the snapshot have to change first.
  public var advice: FailureAdvice { .permanent }
}

/// What a snapshot holds, once it was cut or loaded.
package struct SnapshotSummary: Hashable, Sendable {
  /// Of each replica, the last operation that is merged in it.
  package var heads: [ReplicaID: SnapshotHead]
  /// Of each replica of whom it has only the beginning of the group that follows, the last
  /// operation of that.
  package var beginnings: [ReplicaID: SnapshotHead]
  /// Rows of the state, deleted ones included.
  package var rows: Int
  package var parts: Int
  /// Of a loaded one: operations of this replica's log that it lacked, merged again on top.
  package var mergedAgain: Int
  /// Of one that was cut.
  package var schema: SnapshotSchema?

  package init(
    _ heading: SnapshotHeading, beginnings: [ReplicaID: SnapshotHead] = [:], rows: Int = 0,
    parts: Int = 0, mergedAgain: Int = 0
  ) {
    heads = heading.authors.reduce(into: [:]) {
      if $1.sequence > 0 { $0[$1.id] = SnapshotHead(sequence: $1.sequence, time: $1.time) }
    }
    self.beginnings = beginnings
    self.rows = rows
    self.parts = parts
    self.mergedAgain = mergedAgain
  }

  package var versionVector: VersionVector { VersionVector(heads.mapValues(\.sequence)) }

  /// Whether some remote can have been told this by ``heads(at:)``.
  func mayTell(_ told: VersionVector) -> Bool {
    Set(heads.keys).union(told.sequences.keys).allSatisfy { author in
      let merged = heads[author]?.sequence ?? 0
      return told[author] == merged
        || merged < told[author] && told[author] <= beginnings[author]?.sequence ?? 0
    }
  }

  /// What a remote is told that it holds: of a group that is not whole, only what the remote
  /// has of it.
  ///
  /// The rest is news to it, and only the operations themselves say that their group goes on.
  package func heads(at remote: VersionVector) -> [ReplicaID: SnapshotHead] {
    var told = heads
    for (author, last) in beginnings where remote[author] > heads[author]?.sequence ?? 0 {
      told[author] = SnapshotHead(sequence: min(last.sequence, remote[author]), time: last.time)
    }
    return told
  }
}
