import GRDB
import TernCore
import TernDatabase

extension Replica {
  /// What concurrent writes lost here, the newest first.
  ///
  /// ```swift
  /// for entry in try await replica.inbox() {
  ///   print(entry.table, entry.key, entry.values, "lost against", entry.winner)
  /// }
  /// ```
  ///
  /// An entry is made in the transaction that merged, on the device where the two writes met: other
  /// devices have inboxes of their own. It stays until it is restored or dismissed, and within
  /// ``InboxLimits``.
  ///
  /// - Throws: `DatabaseError`.
  public func inbox() async throws -> [InboxEntry] {
    let store = store
    return try await BlockingWork.shared.run {
      try store.database.read { try Inbox(store, $0).entries() }
    }
  }

  /// ``inbox()`` in a transaction of the app's, also for a `ValueObservation`.
  ///
  /// ```swift
  /// let inbox = ValueObservation.tracking { db in try replica.inbox(in: db) }
  /// ```
  ///
  /// - Throws: `DatabaseError`.
  public func inbox(in db: Database) throws -> [InboxEntry] {
    try Inbox(store, db).entries()
  }

  /// Writes what an entry lost into its row as a new write of this device, and takes the entry out
  /// of the inbox, in one transaction.
  ///
  /// A row that is not there is inserted with the entry's values, and with what is kept of it where
  /// the table keeps what is deleted; its other columns get their defaults.
  ///
  /// A child of a deleted parent is shown again: without the parent where its foreign key declares
  /// `SET NULL` or `SET DEFAULT`, and otherwise with it, where the parent's table keeps what is
  /// deleted.
  ///
  /// - Throws: ``InboxError`` for an entry that is gone, a row that is quarantined, or a parent of
  ///   which nothing is kept or that its table does not take back, and `DatabaseError` where the
  ///   table refuses the row: the entry then stays.
  public func restore(_ entry: InboxEntry) async throws {
    let store = store
    try await BlockingWork.shared.run { try store.restore(entry) }
    localWrites.tell()
  }

  /// Writes what an entry lost into another row of its table: for edits to a key that was changed
  /// meanwhile, into the row under its new key.
  ///
  /// - Throws: as ``restore(_:)``, and ``InboxError/Code/missingRow`` where there is no such row.
  public func restore(_ entry: InboxEntry, into key: [SQLiteValue]) async throws {
    let store = store
    try await BlockingWork.shared.run { try store.restore(entry, into: key) }
    localWrites.tell()
  }

  /// Takes an entry out of the inbox.
  ///
  /// - Throws: ``InboxError`` for one that is gone; `DatabaseError`.
  public func dismiss(_ entry: InboxEntry) async throws {
    let store = store
    try await BlockingWork.shared.run { try store.access.write { try Inbox($0).remove(entry) } }
  }
}

extension SQLiteReplicaStore {
  /// ``Replica/restore(_:)`` on the caller's thread.
  package func restore(_ entry: InboxEntry, into key: [SQLiteValue]? = nil) throws {
    // A seal of its own for what was written before: a restored write is one operation.
    try seal()
    let isChild = entry.kind == .parentDeleted && key == nil
    let isWaitedFor = try access.write(withoutForeignKeys: isChild) { transaction in
      try Inbox(transaction).remove(entry)
      if isChild {
        try InboxRestore(transaction).restoreChild(entry)
      } else {
        try InboxRestore(transaction).restore(entry, into: key)
      }
      _ = try Seal.run(in: transaction)
      // The row itself may be what others wait for.
      if try transaction.held.hasUnsettledRows() { try transaction.held.noteUnsettled() }
      return try transaction.held.isUnsettled()
    }
    if isWaitedFor { access.settleIfPossible() }
  }
}
