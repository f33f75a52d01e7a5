import GRDB
import TernCore
import TernDatabase

extension Replica {
  /// What rows hold that their tables do not show: first the values that lost here against
  /// concurrent ones, the newest first; then the rows that are kept out of their tables, by table
  /// and key.
  ///
  /// ```swift
  /// for entry in try await replica.inbox() {
  ///   print(entry.table, entry.key, entry.kind, entry.values, entry.actions)
  /// }
  /// ```
  ///
  /// A value that lost is listed on the device where the two writes met, from the merge on until it
  /// is restored or dismissed, and within ``InboxLimits``. A row that is kept out is listed on
  /// every device, as long as it is.
  ///
  /// - Parameters:
  ///   - kinds: those to list; `nil` for all.
  ///   - entry: the last one of the page before.
  ///   - limit: how many to give at most.
  ///   - withDismissed: whether entries are listed that are hidden on this device.
  /// - Throws: `DatabaseError`, ``ReplicaError``.
  public func inbox(
    of kinds: Set<InboxKind>? = nil, after entry: InboxEntry? = nil, limit: Int = 1000,
    withDismissed: Bool = false
  ) async throws -> [InboxEntry] {
    let store = store
    let request = Inbox.Request(
      kinds: kinds, after: entry, limit: limit, withDismissed: withDismissed)
    return try await BlockingWork.shared.run {
      try store.access.read { try Inbox($0).entries(request) }
    }
  }

  /// ``inbox(of:after:limit:withDismissed:)`` in a transaction of the app's, also for a
  /// `ValueObservation`.
  ///
  /// ```swift
  /// let inbox = ValueObservation.tracking { db in try replica.inbox(in: db) }
  /// ```
  ///
  /// - Throws: `DatabaseError`, ``ReplicaError``.
  public func inbox(
    of kinds: Set<InboxKind>? = nil, after entry: InboxEntry? = nil, limit: Int = 1000,
    withDismissed: Bool = false, in db: Database
  ) throws -> [InboxEntry] {
    let request = Inbox.Request(
      kinds: kinds, after: entry, limit: limit, withDismissed: withDismissed)
    return try Inbox(store.access.transaction(of: db, nil)).entries(request)
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
  /// - Throws: ``InboxError`` for an entry that is gone or cannot be restored, a row that is
  ///   quarantined, or a parent of which nothing is kept or that its table does not take back, and
  ///   `DatabaseError` where the table refuses the row: the entry then stays.
  public func restore(_ entry: InboxEntry) async throws {
    let store = store
    try await BlockingWork.shared.run { try store.restore(entry) }
    localWrites.tell()
  }

  /// Writes the values that an entry lost into another row of its table: for edits to a key that
  /// was changed meanwhile, into the row under its new key.
  ///
  /// - Throws: as ``restore(_:)``, and ``InboxError`` where there is no such row.
  public func restore(_ entry: InboxEntry, into key: [SQLiteValue]) async throws {
    let store = store
    try await BlockingWork.shared.run { try store.restore(entry, into: key) }
    localWrites.tell()
  }

  /// Deletes the row of an entry, for everybody, inside the caller's transaction.
  ///
  /// ```swift
  /// try await replica.write { db in
  ///   for entry in try replica.inbox(of: [.displaced], in: db) {
  ///     try replica.discard(entry, in: db)
  ///   }
  /// }
  /// ```
  ///
  /// As the app's own delete would: what foreign keys declare becomes of the rows that wait for it.
  /// `CASCADE` deletes them too, `SET NULL` and `SET DEFAULT` show them without it, and others
  /// refuse the call. What was written before, in this transaction or an earlier one, is sealed
  /// first. What waits for the row is looked at by the next seal, which ``write(_:)`` ends with.
  ///
  /// - Throws: ``InboxError`` for an entry that is gone or cannot be discarded, or a row that may
  ///   not be without this one; `DatabaseError`. Nothing of it is written then, also where the
  ///   transaction goes on.
  public func discard(_ entry: InboxEntry, in db: Database) throws {
    try store.writeInbox(in: db) { try $0.discard(entry) }
    db.afterNextTransaction { [localWrites] _ in localWrites.tell() }
  }

  /// Hides an entry on this device until it says something else, or lists a hidden one again.
  ///
  /// - Throws: ``InboxError`` for one that is gone; `DatabaseError`.
  public func dismiss(_ entry: InboxEntry, isDismissed: Bool = true) async throws {
    let store = store
    try await BlockingWork.shared.run {
      try store.access.write { transaction in
        let (_, row) = try Inbox(transaction).row(of: entry, for: .dismiss)
        if isDismissed {
          try transaction.dismissed.add(entry.id, row)
        } else {
          try transaction.dismissed.remove(entry.id, row)
        }
      }
    }
  }
}

extension SQLiteReplicaStore {
  /// ``Replica/restore(_:)`` on the caller's thread.
  package func restore(_ entry: InboxEntry, into key: [SQLiteValue]? = nil) throws {
    let isChild = entry.kind == .orphaned || entry.kind == .veiled
    guard !isChild || key == nil else {
      throw InboxError(
        .wrongAction, "a row that is kept out is not restored into another; show it instead")
    }
    // A seal of its own for what was written before: a restored write is one operation.
    try seal()
    let isWaitedFor = try access.write(withoutForeignKeys: isChild) { transaction in
      let writer = InboxWriter(transaction)
      if isChild { try writer.restoreChild(entry) } else { try writer.restore(entry, into: key) }
      _ = try Seal.run(in: transaction)
      // The row itself may be what others wait for.
      try transaction.held.noteUnsettledRows()
      return try transaction.held.isUnsettled()
    }
    if isWaitedFor { access.settleIfPossible() }
  }

  /// What is done about an entry in a transaction of the app's, all of it or nothing.
  func writeInbox(in db: Database, _ body: (InboxWriter) throws -> Void) throws {
    try db.inSavepoint {
      try access.join(db) { transaction in
        try body(InboxWriter(transaction))
        try transaction.held.noteUnsettledRows()
      }
      return .commit
    }
  }
}
