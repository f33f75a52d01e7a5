import GRDB
import TernCore
import TernDatabase

extension Replica {
  /// Takes back this device's last operation that was not taken back yet, as a new operation that
  /// merges like any other.
  ///
  /// ```swift
  /// if let undone = try await replica.undo() {
  ///   for row in undone.rows { print(row.table, row.key, row.action, row.left) }
  /// }
  /// ```
  ///
  /// Each column gets the value that it had before, where what the operation wrote still stands; a
  /// column that was written since, by whomever, is left alone and reported, and so is one, or a
  /// row, that would refer to a row which is gone. Counters get the opposite difference, and sets
  /// the opposite changes. What was inserted is deleted, unless it was changed since, or rows that
  /// stay refer to it; what was deleted comes back with all columns that travel, as far as they are
  /// known. Extremes stay. A row that its table refuses as it was, because another has its value in
  /// a UNIQUE index by now, is left and reported. Another call takes back the operation before;
  /// undoing is not itself undone.
  ///
  /// Seals what was written first. An operation is what one ``write(_:)`` did, or what was written
  /// between two seals without a minute's pause. Rows that were there before their table began to
  /// sync are never taken away, nor are those that a migration brought: the first edit of one
  /// stays, and is reported as forgotten.
  ///
  /// Cost: one pass over the log's bytes; of more than 8 rows, every operation is decoded.
  ///
  /// - Returns: what was taken back; `nil` when the log has no further operation of this device.
  /// - Throws: `DatabaseError` for what a trigger refuses or takes away again, and for a row that
  ///   rows of a table refer to which is not synced, with nothing taken back; ``ReplicaError``.
  public func undo() async throws -> UndoneOperation? {
    let store = store
    let undone = try await BlockingWork.shared.run { try store.undo() }
    if undone != nil { localWrites.tell() }
    return undone
  }
}

extension SQLiteReplicaStore {
  /// ``Replica/undo()`` on the caller's thread.
  package func undo() throws -> UndoneOperation? {
    try seal()
    return try sealing { transaction in
      _ = try Seal.run(in: transaction)
      var search = UndoSearch(transaction.authorTable.own.merged)
      return try search.next(in: transaction)?.takeBack(in: transaction).0
    }
  }
}
