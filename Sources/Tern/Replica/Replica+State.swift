import TernCore
import TernDatabase

extension Replica {
  /// The id under which this replica writes. A database that turns out to be a copy gets another:
  /// ``SyncStatus/Moment/idChange``.
  ///
  /// - Throws: ``ReplicaError`` `.notInstalled`, and `DatabaseError`.
  public func id() async throws -> ReplicaID {
    let store = store
    return try await BlockingWork.shared.run { try store.replicaID() }
  }

  /// Makes an operation of what was noted until now, as an engine does before it pushes; several
  /// where nothing was written for a minute in between.
  /// Nobody has to call it: it is for who wants to see what became of a write.
  ///
  /// One transaction on the writing connection, and a second where rows that are quarantined are to
  /// be looked at again; none where there is nothing to do, so that it waits for
  /// nobody's lock then.
  ///
  /// - Returns: the sequence numbers of the new operations, several where one were too long; empty
  ///   when nothing was noted.
  /// - Throws: ``ReplicaError``, and `DatabaseError`.
  @discardableResult
  public func seal() async throws -> Range<UInt64> {
    let store = store
    return try await BlockingWork.shared.run { try store.sealNews() }
  }

  /// A number for the merged state of each table, by its name in small letters. Replicas with the
  /// same operations and the same schema have the same numbers (INV-01), whatever their local
  /// columns hold.
  ///
  /// ```swift
  /// #expect(try await phone.stateDigests() == tablet.stateDigests())
  /// ```
  ///
  /// Seals what was written first. A look at every row, as of one moment.
  ///
  /// - Throws: ``ReplicaError``, and `DatabaseError`.
  public func stateDigests() async throws -> [String: StateReport.Digest] {
    let store = store
    return try await BlockingWork.shared.run {
      try store.sealNews()
      return try store.access.read { try TableDigest.all(in: $0) }
    }
  }
}
