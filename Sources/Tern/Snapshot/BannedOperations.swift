import TernCore
import TernDatabase

/// What banned replicas wrote after what a remote took of them, and came here by another way.
///
/// No other replica of that remote has it. A snapshot takes the place of the state with it, and its
/// values go to the inbox, from which a person can write them as their own.
struct BannedOperations {
  private let transaction: StoreTransaction
  /// By author, the last sequence number that the remote takes.
  private let last: [UInt32: UInt64]

  /// - Parameter bans: at the remote; this replica's own does not count, as what it wrote is its.
  init(_ transaction: StoreTransaction, _ bans: [ReplicaID: UInt64]) throws {
    self.transaction = transaction
    var last: [UInt32: UInt64] = [:]
    for (index, id) in transaction.authors.ids.enumerated().dropFirst() {
      guard let ban = bans[id], try transaction.authorTable.row(UInt32(index)).stored > ban else {
        continue
      }
      last[UInt32(index)] = ban
    }
    self.last = last
  }

  func concerns(_ author: UInt32) -> Bool { last[author] != nil }

  /// Takes them out of the log, and what they wrote into the inbox.
  func drop(_ losses: Losses) throws {
    for (author, ban) in last.sorted(by: { $0.key < $1.key }) {
      for id in try transaction.log.ids(of: author, after: ban) {
        // One that can't be read was merged nowhere.
        if let operation = try transaction.log.operation(id), operation.bodyError() == nil {
          try keep(operation, id, losses)
        }
        try transaction.log.drop(id)
      }
    }
  }

  /// What follows says nothing of what went, once the authors stand where they are now.
  func announceLess() throws {
    let update = try transaction.statement(
      "UPDATE \(transaction.tables.author) SET announced = min(announced, merged) WHERE idx = ?")
    for author in last.keys {
      update.bind(1, Int64(author))
      try update.run()
    }
  }

  /// Sums, sets and texts have no value of one author; a delete has none either.
  private func keep(_ operation: SyncOperation, _ id: LogID, _ losses: Losses) throws {
    let stamp = Stamp(time: operation.envelope.time, author: id.author)
    try operation.bytes.withUnsafeBytes { bytes in
      let body = UnsafeRawBufferPointer(rebasing: bytes[operation.bodyOffset...])
      try LoggedChange.forEach(in: body, of: transaction.sql, isWanted: { _ in true }) {
        row, change in
        guard let shape = transaction.sql.first(where: { $0.shape.id == row.table })?.shape else {
          return
        }
        var values: [String: SQLiteValue] = [:]
        for (target, content) in change.columns {
          if case .value(let value) = content { values[shape.columns[target].name] = value }
        }
        try losses.add(shape, row.key, .banned, values, loser: stamp, winner: stamp)
      }
    }
  }
}
