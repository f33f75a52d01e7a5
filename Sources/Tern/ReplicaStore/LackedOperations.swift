import TernCore
import TernDatabase

/// The operations that a remote lacks, in an order that it accepts.
struct LackedOperations {
  private let transaction: StoreTransaction
  private let maximumBytes: Int

  init(_ transaction: StoreTransaction, maximumBytes: Int) {
    (self.transaction, self.maximumBytes) = (transaction, maximumBytes)
  }

  /// Without those of whom the remote has other operations.
  func read(_ heads: VersionVector, repeating repeated: Set<ReplicaID>, at remoteID: String) throws
    -> [SyncOperation]
  {
    var heads = heads
    for author in try transaction.remotes.forks(at: remoteID).keys {
      heads[transaction.authors.ids[Int(author)]] = VersionVector.maximumSequence
    }
    return try read(heads, repeating: repeated)
  }

  func read(_ heads: VersionVector, repeating repeated: Set<ReplicaID> = []) throws
    -> [SyncOperation]
  {
    let select = try transaction.statement(
      "SELECT bytes FROM \(transaction.tables.log) WHERE id > ? AND id <= ? ORDER BY id")
    var operations: [SyncOperation] = []
    var total = 0
    for (index, id) in transaction.authors.ids.enumerated() {
      let index = UInt32(index)
      let author = try transaction.authorTable.row(index)
      let stored = try transaction.waiting.firstFuture(of: index).map { $0 - 1 } ?? author.stored
      // What the log has no longer, only a snapshot can bring there.
      guard stored > heads[id], author.trimmed <= heads[id] else { continue }
      let isRepeated = repeated.contains(id) && author.trimmed < heads[id]
      let held = isRepeated ? heads[id] - 1 : heads[id]
      select.bind(1, LogID(author: index, sequence: held).rawValue)
      select.bind(2, LogID(author: index, sequence: stored).rawValue)
      defer { select.reset() }
      while try select.step() {
        let bytes = select.blob(0)
        if !operations.isEmpty, total + bytes.count > maximumBytes { return operations }
        total += bytes.count
        operations.append(try SyncOperation(bytes: Array(bytes)))
        if operations.count == OperationBatch.Limit.operations { return operations }
      }
    }
    return operations
  }
}
