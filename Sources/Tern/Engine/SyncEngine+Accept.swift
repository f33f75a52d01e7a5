import TernCore

extension SyncEngine {
  /// Has the next sync load the snapshot that the last one refused because it takes something away
  /// (``SnapshotError/Code/takesAway``), and keeps the database as it is in a file beside it.
  ///
  /// ```swift
  /// let kept = try await engine.acceptSnapshot()
  /// try await engine.syncOnce()
  /// print(try await replica.restoreRows(fromFile: kept, preview: true))
  /// ```
  ///
  /// For a person who knows that the snapshot is right, or that no better one will come. Rows,
  /// values and tombstones that it lacks are gone from this replica.
  /// ``Replica/restoreRows(fromFile:preview:)`` brings rows of the kept file back. Only that
  /// snapshot is accepted, and only by this engine: another one is checked again. The kept file is
  /// the app's to delete; nobody but its owner may read it.
  ///
  /// - Returns: the kept file's path: the database's, with `-kept-1.sqlite` behind it, or the next
  ///   number that is free.
  /// - Throws: ``SnapshotError`` with ``SnapshotError/Code/notRefused`` where this engine refused
  ///   none, and with ``SnapshotError/Code/unsupported`` for a database in memory; `DatabaseError`,
  ///   for example of a full disk. Nothing is accepted then.
  public func acceptSnapshot() async throws -> String {
    guard let unloadable, (unloadable.error as? SnapshotError)?.code == .takesAway,
      let store = store as? SQLiteReplicaStore
    else {
      throw SnapshotError(
        .notRefused,
        "this engine has refused no snapshot for what it takes away; sync first, and accept the "
          + "snapshot when the error's code says takesAway")
    }
    let path = try await BlockingWork.shared.run { try store.access.keepFile() }
    if unloadable.isRepair {
      let tables = status.current.differingTables
      try store.save(StateComparison(tables: tables), at: remote.id)
    }
    acceptedSnapshot = unloadable.id
    if self.unloadable?.id == unloadable.id { self.unloadable = nil }
    return path
  }
}
