import GRDB
import TernCore
import TernDatabase

/// Rows of one operation, as a person's action is recognised by them.
public struct UndoableRow: Hashable, Sendable {
  public let table: String
  public let key: [SQLiteValue]
}

extension Replica {
  /// Takes back this device's last action, where an action can be several operations: the lines of
  /// a file that were kept as they were read, say.
  ///
  /// ```swift
  /// let undone = try await replica.undo { db, rows in
  ///   let keys = rows.filter { $0.table == "line" }.map(\.key)
  ///   return try keys.lazy.compactMap { try importID(of: $0, db) }.first
  /// }
  /// ```
  ///
  /// All of it is one transaction: the action is taken back whole or stays. Each operation is as
  /// ``undo()`` would take it back, the last first; what others, or other actions of this device,
  /// wrote in between stays.
  ///
  /// Cost: that of ``undo()`` for each operation that is taken back; and where the last one names
  /// an action, a look at every operation of this device that can still be undone.
  ///
  /// - Parameter action: names the action that an operation with these rows is a part of, `nil` for
  ///   one that is an action by itself. Called in the transaction, before anything of that
  ///   operation is taken back; it writes nothing.
  /// - Returns: what was taken back, the last first; empty when the log has no further operation of
  ///   this device.
  /// - Throws: as ``undo()``, and what `action` throws, with nothing taken back.
  public func undo<Action: Equatable & Sendable>(
    joining action: @escaping @Sendable (Database, [UndoableRow]) throws -> Action?
  ) async throws -> [UndoneOperation] {
    let store = store
    let undone = try await BlockingWork.shared.run { try store.undo(joining: action) }
    if !undone.isEmpty { localWrites.tell() }
    return undone
  }
}

extension SQLiteReplicaStore {
  /// ``Replica/undo(joining:)`` on the caller's thread.
  package func undo<Action: Equatable>(
    joining action: (Database, [UndoableRow]) throws -> Action?
  ) throws -> [UndoneOperation] {
    try seal()
    return try sealing { transaction in
      _ = try Seal.run(in: transaction)
      var search = UndoSearch(transaction.authorTable.own.merged)
      var undone: [UndoneOperation] = []
      var wanted: Action?
      while let target = try search.next(in: transaction) {
        let named = try action(transaction.db, target.rows(in: transaction))
        if !undone.isEmpty, named != wanted { continue }
        let (operation, times) = try target.takeBack(in: transaction)
        undone.append(operation)
        search.note(times)
        guard let named else { break }
        wanted = named
      }
      return undone
    }
  }
}

extension UndoTarget {
  /// Takes the operation back by new ones, and marks all.
  ///
  /// - Returns: with the times of the new ones.
  func takeBack(in transaction: StoreTransaction) throws -> (UndoneOperation, Set<HybridTime>) {
    let pass = UndoPass(transaction, self)
    let undone = try pass.run()
    try transaction.undone.mark(sequence, .undone)
    var times: Set<HybridTime> = []
    let sealed = try Seal.run(in: transaction)
    if let undo = sealed.last, try transaction.reverted.hasMarks(by: sequence) {
      for (row, columns) in pass.taken {
        try transaction.reverted.drop(row, columns, by: sequence, undoneBy: undo)
      }
    }
    for sequence in sealed {
      try transaction.undone.mark(sequence, .undo)
      let operation = try transaction.log.operation(LogID(author: 0, sequence: sequence))
      if let operation { times.insert(operation.envelope.time) }
    }
    return (undone, times)
  }

  fileprivate func rows(in transaction: StoreTransaction) throws -> [UndoableRow] {
    var rows: [UndoableRow] = []
    var seen: Set<RowID> = []
    for operation in operations {
      try operation.bytes.withUnsafeBytes { bytes in
        let body = UnsafeRawBufferPointer(rebasing: bytes[operation.bodyOffset...])
        try LoggedChange.forEach(
          in: body, of: transaction.sql, isWanted: { seen.insert($0).inserted }
        ) { id, _ in
          guard let shape = transaction.sql.first(where: { $0.shape.id == id.table })?.shape else {
            return
          }
          let key = try id.key.withUnsafeBytes { try PackedKey.values($0) }
          rows.append(UndoableRow(table: shape.name, key: key))
        }
      }
    }
    return rows
  }
}
