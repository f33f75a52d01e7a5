import TernCore

extension SQLiteReplicaStore {
  package func forks(at remoteID: String?) throws -> [ReplicaFork] {
    try access.read {
      guard let remoteID else { return try $0.toldForks.forks(of: $0.ownID) }
      return try $0.remotes.forks(at: remoteID, $0.authors)
    }
  }

  package func dropForks(at remoteID: String, beyond heads: VersionVector) throws {
    try access.write { try $0.remotes.dropForks(at: remoteID, beyond: heads, $0.authors) }
  }

  package func tellForks() throws -> Bool {
    // Nearly always there is nothing to tell.
    guard try access.read({ try ForkTelling($0).untold() }) != nil else { return false }
    return try sealing { transaction in
      _ = try Seal.run(in: transaction)
      let telling = ForkTelling(transaction)
      guard let forks = try telling.untold() else { return false }
      try telling.tell(forks)
      return true
    }
  }
}

/// What a replica that met forks tells all others.
private struct ForkTelling {
  let transaction: StoreTransaction

  init(_ transaction: StoreTransaction) { self.transaction = transaction }

  /// Of whom there are forks; `nil` where that was told.
  func untold() throws -> [ReplicaID: UInt64]? {
    let sequences = try transaction.remotes.forkedAuthors(transaction.authors.ids)
    let told = try transaction.toldForks.sequences(by: transaction.ownID)
    return sequences == told ? nil : sequences
  }

  func tell(_ sequences: [ReplicaID: UInt64]) throws {
    var author = transaction.authorTable.own
    author.stored += 1
    author.merged = author.stored
    author.time = transaction.clock.lastTime.next(
      atMilliseconds: try transaction.clock.milliseconds())
    let operation = SyncOperation(
      .init(
        replica: transaction.ownID, sequence: author.stored, time: author.time,
        seen: try transaction.authorTable.announce(transaction.authors),
        schemaVersion: transaction.schemaVersion), body: ForkNotice(sequences).body)
    try transaction.log.append(operation, author: 0)
    try transaction.authorTable.saveOwn(author)
    transaction.clock.lastTime = author.time
    try transaction.clock.save()
    // There is nothing to take back.
    try transaction.undone.mark(author.stored, .undone)
    try transaction.toldForks.save(sequences, by: transaction.ownID)
  }
}
