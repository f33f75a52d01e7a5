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
    sequences = try transaction.forks(at: remoteID)
  }

  /// Takes note of what the remote has under a number that the log has too.
  func note(_ author: UInt32, _ sequence: UInt64, isOther: Bool) throws {
    let known = sequences[author]
    if isOther, sequence < known ?? .max {
      sequences[author] = sequence
      try transaction.saveFork(author, sequence, at: remoteID)
    } else if !isOther, sequence == known {
      sequences[author] = nil
      try transaction.dropFork(author, at: remoteID)
    }
  }

  func leavesOut(_ author: UInt32) -> Bool { sequences[author] != nil }
}

extension StoreTransaction {
  /// By author the first number under which the remote has another operation.
  func forks(at remoteID: String) throws -> [UInt32: UInt64] {
    let select = try statement("SELECT author, sequence FROM \(tables.fork) WHERE remote = ?")
    select.bind(1, copy: .string(remoteID))
    defer { select.reset() }
    var forks: [UInt32: UInt64] = [:]
    while try select.step() {
      forks[UInt32(truncatingIfNeeded: select.int64(0))] = select.raw(1)
    }
    return forks
  }

  fileprivate func saveFork(_ author: UInt32, _ sequence: UInt64, at remoteID: String) throws {
    let put = try statement(
      "REPLACE INTO \(tables.fork) (remote, author, sequence) VALUES (?, ?, ?)")
    put.bind(1, copy: .string(remoteID))
    put.bind(2, Int64(author))
    put.bind(3, raw: sequence)
    try put.run()
  }

  fileprivate func dropFork(_ author: UInt32, at remoteID: String) throws {
    let delete = try statement("DELETE FROM \(tables.fork) WHERE remote = ? AND author = ?")
    delete.bind(1, copy: .string(remoteID))
    delete.bind(2, Int64(author))
    try delete.run()
  }

  func replicaForks(at remoteID: String) throws -> [ReplicaFork] {
    try forks(at: remoteID).map {
      ReplicaFork(remote: remoteID, replica: authors.ids[Int($0)], sequence: $1)
    }.sorted { $0.replica < $1.replica }
  }

  func dropForks(at remoteID: String, beyond heads: VersionVector) throws {
    for (author, sequence) in try forks(at: remoteID)
    where heads[authors.ids[Int(author)]] < sequence {
      try dropFork(author, at: remoteID)
    }
  }

  /// The first hundred, over all remotes.
  func forks() throws -> [ReplicaFork] {
    let select = try statement(
      "SELECT remote, author, sequence FROM \(tables.fork) ORDER BY remote, author LIMIT 100")
    defer { select.reset() }
    var forks: [ReplicaFork] = []
    while try select.step() {
      forks.append(
        ReplicaFork(
          remote: select.value(0).value?.string ?? "",
          replica: authors.ids[Int(select.int64(1))], sequence: select.raw(2)))
    }
    return forks
  }
}
