import TernCore
import TernDatabase

/// How much of what a replica has, by what became of it: ``Replica/counts()``.
public struct ReplicaCounts: Hashable, Sendable {
  /// Noted writes that no operation holds yet.
  public var unsealedChanges = 0
  /// Operations in the log, of this replica and of others.
  public var operations = 0
  /// Rows whose table does not show what the state has of them.
  public var quarantined = 0
  /// Operations that are in the log and wait, and for what.
  public var pending = PendingOperations()
  /// Rows that were written here and are in no operation, by table: because they are longer than
  /// ``SyncOperation/Limit/rowBytes``, or because a peer brought them to their last
  /// life that travels.
  public var largeRows: [String: Int] = [:]
  /// The app's triggers that don't run for rows that sync brings. Temporary ones are among them
  /// once a merge has met them.
  public var skippedTriggers: [SkippedTrigger] = []
  /// Foreign keys of unsynced tables to synced ones that don't say what becomes of their rows when
  /// a merge deleted the parent: these stay, without it. ``SyncTable/unsyncedChildren`` says it.
  public var openReferences: [String] = []
  /// Concurrent writes that met here, by what decided.
  public var conflicts: [ConflictKind: Int] = [:]
  /// Replicas of whom a remote has other operations than are here, and ids of this device of which
  /// another one says so; the first hundred of each.
  public var forks: [ReplicaFork] = []

  package init() {}
}

extension ReplicaCounts {
  init(
    _ transaction: StoreTransaction, skippedTriggers: [SkippedTrigger], openReferences: [String]
  ) throws {
    let tables = transaction.tables
    let notes = transaction.sql.map { "(SELECT count(*) FROM \($0.note.noteTable))" }
    // The log holds every operation of an author behind the trimmed ones.
    let select = try transaction.statement(
      """
      SELECT \((["0"] + notes).joined(separator: " + ")),
        (SELECT sum(stored - trimmed) FROM \(tables.author)), 
        (SELECT count(*) FROM \(tables.held) WHERE \(HeldReason.isOutOfTable))
      """)
    try select.each {
      (unsealedChanges, operations, quarantined) = (select.int(0), select.int(1), select.int(2))
    }
    pending = try transaction.waiting.summary(authors: transaction.authors.ids)
    if transaction.large.hasRows {
      largeRows = try transaction.large.counts(of: transaction.sql)
    }
    (self.skippedTriggers, self.openReferences) = (skippedTriggers, openReferences)
    conflicts = try transaction.conflicts.counts()
    forks = try transaction.remotes.forks(transaction.authors.ids)
    forks += try transaction.toldForks.forks(besides: transaction.ownID)
  }
}
