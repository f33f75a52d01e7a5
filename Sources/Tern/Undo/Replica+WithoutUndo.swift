import GRDB
import TernCore
import TernDatabase

extension Replica {
  /// Writes, in the caller's transaction, what the app does by itself: ``undo()`` passes it over,
  /// and takes back what the person did before it.
  ///
  /// ```swift
  /// try await context.step("translate") {
  ///   try await service.translate(text)
  /// } commit: { db, answer in
  ///   try replica.writeWithoutUndo(in: db) { db in
  ///     try db.execute(sql: "UPDATE question SET answer = ?", arguments: [answer])
  ///   }
  /// }
  /// ```
  ///
  /// What was written before, in this transaction or an earlier one, is sealed first, so that it
  /// stays an operation that can be undone; what `body` writes is one of its own, that merges like
  /// any other. Rows quarantined that wait for it are looked at again by the next seal.
  ///
  /// - Returns: what `body` returns.
  /// - Throws: what `body` throws, with nothing of it written, also where the transaction goes on;
  ///   `DatabaseError`, ``ReplicaError``.
  public func writeWithoutUndo<T>(in db: Database, _ body: (Database) throws -> T) throws -> T {
    var result: T?
    try db.inSavepoint {
      try store.access.join(db) { before in
        _ = try Seal.run(in: before)
        let last = before.authorTable.own.stored
        let start = ContinuousClock.now
        result = try body(db)
        // As it stands after `body`: one of these inside it has sealed what that wrote until then.
        let after = try store.access.transaction(of: db, before.recorder)
        _ = try Seal.run(in: after, since: start)
        for sequence in last..<after.authorTable.own.stored {
          try after.undone.mark(sequence + 1, .undone)
        }
      }
      return .commit
    }
    return result!
  }
}
