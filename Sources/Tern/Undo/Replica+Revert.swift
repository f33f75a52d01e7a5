import Foundation
import GRDB
import TernCore
import TernDatabase

extension Replica {
  /// Takes back what one author wrote after one of its operations: a device that was stolen, a
  /// member who went bad, a faulty build. ``history(_:key:after:limit:)`` names author and
  /// sequence.
  ///
  /// ```swift
  /// let preview = try await replica.revert(author: phone, after: 811, preview: true)
  /// print(preview)
  /// try await replica.revert(author: phone, after: 811)
  /// ```
  ///
  /// Nothing is rewound. What the log knows from before becomes a new write of this device, which
  /// merges like any other and which ``undo()`` takes back. Rows that the author deleted come back,
  /// and columns that it overwrote get the value of the last other write. Counters are corrected by
  /// the author's differences. Of sets and texts the author's changes are taken out. Rows that it
  /// inserted, and that nobody else changed, are deleted. What others wrote since stays, and so
  /// does what the log has no more: the result names it, with the reason.
  ///
  /// Rows that another device had before their table synced are inserts of that device, and are
  /// deleted like any: the preview names them as ``UndoneOperation/Row/Action/removed``.
  ///
  /// Seals what was written first. Everything is one transaction. A second call has nothing to do
  /// but what was left, and what ``undo()`` put back. Counters, sets and texts are corrected once
  /// by each device that is asked to, so ask one and let the others sync. An operation of several
  /// parts is taken back whole.
  ///
  /// Cost: one pass over the log's bytes, and memory for what the log has of the author's rows.
  ///
  /// - Parameters:
  ///   - author: also this replica itself; what it has undone, reverted or written by
  ///     ``writeWithoutUndo(in:_:)`` is passed over.
  ///   - sequence: of the last operation that stays; 0 to take back all.
  ///   - preview: says what would be done, and writes nothing.
  /// - Throws: ``ReplicaError`` with ``ReplicaError/Code/unknownAuthor`` where nothing of the
  ///   author ever came; and as ``undo()``, with nothing taken back.
  @discardableResult
  public func revert(author: ReplicaID, after sequence: UInt64, preview: Bool = false) async throws
    -> RevertedOperations
  {
    try await revert(author, .sequence(sequence), isPreview: preview)
  }

  /// Takes back what one author wrote after a moment, by the author's clock, as the other method of
  /// this name does after an operation.
  ///
  /// - Parameter date: what was written in this millisecond stays.
  /// - Throws: as the other.
  @discardableResult
  public func revert(author: ReplicaID, after date: Date, preview: Bool = false) async throws
    -> RevertedOperations
  {
    let milliseconds = (date.timeIntervalSince1970 * 1000).rounded()
    let bounded = min(max(milliseconds, 0), Double(HybridTime.maximumMilliseconds - 1))
    // The last time of that millisecond.
    let next = HybridTime(milliseconds: Int64(bounded.isNaN ? 0 : bounded) + 1)
    return try await revert(
      author, .time(HybridTime(rawValue: next.rawValue - 1)), isPreview: preview)
  }

  private func revert(_ author: ReplicaID, _ start: RevertPass.Start, isPreview: Bool) async throws
    -> RevertedOperations
  {
    let store = store
    let reverted = try await BlockingWork.shared.run {
      try RevertPass.run(in: store, author, start, isPreview: isPreview)
    }
    if !isPreview, !reverted.isNothing { localWrites.tell() }
    return reverted
  }
}

extension RevertPass {
  /// ``Replica/revert(author:after:preview:)`` on the caller's thread.
  fileprivate static func run(
    in store: SQLiteReplicaStore, _ author: ReplicaID, _ start: Start, isPreview: Bool
  ) throws -> RevertedOperations {
    try store.seal()
    return try store.sealing { transaction in
      _ = try Seal.run(in: transaction)
      guard let index = transaction.authors.index(of: author) else {
        throw ReplicaError(
          .unknownAuthor,
          "no operation of replica \(author) ever came here; take the author that Replica.history "
            + "names for a row, on a device that has synced")
      }
      let pass = RevertPass(transaction, author: index)
      var reverted: RevertedOperations?
      try transaction.db.inSavepoint {
        reverted = try pass.run(after: start)
        return isPreview ? .rollback : .commit
      }
      if !isPreview {
        let sealed = try Seal.run(in: transaction)
        if let last = sealed.last { try transaction.reverted.save(pass.taken, by: last) }
        for sequence in sealed { try transaction.undone.mark(sequence, .revert) }
      }
      return reverted!
    }
  }
}
