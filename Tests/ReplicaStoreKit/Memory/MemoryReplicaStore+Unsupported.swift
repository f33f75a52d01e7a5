import Tern

/// It keeps no parts of groups, does not trim its log, knows no snapshots and reports no state.
extension MemoryReplicaStore {
  package func storedVersionVector() throws -> VersionVector { try versionVector() }

  package func trim(heldBy heads: VersionVector, at remoteID: String) throws {}

  package func hasTrimmed(lackedBy heads: VersionVector) throws -> Bool { false }

  package func stateReport(at remoteID: String, merged heads: VersionVector) throws -> StateReport?
  {
    nil
  }

  package func comparison(at remoteID: String) throws -> StateComparison? { nil }

  package func changeID(from former: ReplicaID, after last: UInt64, at remoteID: String) throws
    -> ReplicaIDChange?
  { nil }

  package func leaveID(
    _ former: ReplicaID, for place: RemotePlace, heads: VersionVector, isTold: Bool
  ) throws -> ReplicaIDChange? { nil }

  package func save(_ comparison: StateComparison, at remoteID: String) throws {}

  package func note(_ authors: [ReplicaID: RemoteAuthor], at remoteID: String) throws {}

  package func cutSnapshot(_ write: (_ part: [UInt8]) throws -> Void) throws -> SnapshotSummary {
    throw SnapshotError(
      .unsupported, "the store in memory cannot cut snapshots; let another device do it")
  }

  package func loadSnapshot(
    from origin: SnapshotOrigin?, isRepairing: Bool, _ part: (_ index: Int) throws -> [UInt8]?
  ) throws -> SnapshotSummary {
    throw SnapshotError(
      .unsupported, "the store in memory cannot load snapshots; use SQLiteReplicaStore")
  }
}
