import TernCore
import TernDatabase

/// Authors of whom one remote holds another operation than the log does, under one number: copies
/// of one database wrote on, and reached this replica by different ways.
///
/// The first to arrive stays. What that remote has of such an author from there on follows the
/// other copy's operations: it is left out, durably and by name, and nothing of that author goes
/// there. That ends when the remote shows the log's own operation under the number.
final class RemoteForks {
  private let transaction: StoreTransaction
  private let remoteID: String
  private var sequences: [UInt32: UInt64]

  init(_ transaction: StoreTransaction, at remoteID: String) throws {
    self.transaction = transaction
    self.remoteID = remoteID
    sequences = try transaction.remotes.forks(at: remoteID)
  }

  /// Takes note of what the remote has under a number that the log has too.
  func note(_ author: UInt32, _ sequence: UInt64, isOther: Bool) throws {
    let known = sequences[author]
    if isOther, sequence < known ?? .max {
      sequences[author] = sequence
      try transaction.remotes.saveFork(author, sequence, at: remoteID)
    } else if !isOther, sequence == known {
      sequences[author] = nil
      try transaction.remotes.dropFork(author, at: remoteID)
    }
  }

  func leavesOut(_ author: UInt32) -> Bool { sequences[author] != nil }
}
