#if Server
import TernCore

/// What a space in memory keeps beside its operations. Small, so that a transaction has a copy.
struct MemoryKeeping {
  struct Snapshot {
    var row: StoredSnapshot
    let heads: [ReplicaID: SnapshotHead]
    var parts: [Int: (digest: PartDigest, bytes: [UInt8])] = [:]
  }

  var snapshots: [String: Snapshot] = [:]
  var trimmed: UInt64 = 0
  /// Up to here operations have lost their bytes.
  var emptied: UInt64 = 0
  var leases: [ReplicaID: Lease] = [:]
  var marks: [PositionMark] = []
  var state: StoredState?
  var quota = SpaceQuota()

  /// The least position first; of equal ones always in the same order.
  var rows: [StoredSnapshot] {
    snapshots.values.map(\.row).sorted { ($0.position, $0.id) < ($1.position, $1.id) }
  }

  var newest: Snapshot? {
    rows.last(where: \.isComplete).flatMap { snapshots[$0.id] }
  }
}

extension MemorySpaceTransaction {
  func snapshots() -> [StoredSnapshot] { keeping.rows }

  func snapshot(_ id: String) -> StoredSnapshot? { keeping.snapshots[id]?.row }

  func snapshotHeads(of id: String) -> [ReplicaID: SnapshotHead] {
    keeping.snapshots[id]?.heads ?? [:]
  }

  func add(_ snapshot: StoredSnapshot, heads: [ReplicaID: SnapshotHead]) {
    precondition(keeping.snapshots[snapshot.id] == nil, "a snapshot is added once")
    keeping.snapshots[snapshot.id] = .init(row: snapshot, heads: heads)
  }

  func update(_ snapshot: StoredSnapshot) { keeping.snapshots[snapshot.id]?.row = snapshot }

  func drop(_ id: String) { keeping.snapshots[id] = nil }

  func removeDropped(contentBytes: Int) -> Bool { false }

  func storedParts(of id: String) -> [Int: PartDigest] {
    keeping.snapshots[id]?.parts.mapValues(\.digest) ?? [:]
  }

  func partDigest(_ index: Int, of id: String) -> PartDigest? {
    keeping.snapshots[id]?.parts[index]?.digest
  }

  func addPart(_ bytes: [UInt8], digest: PartDigest, index: Int, of id: String) {
    keeping.snapshots[id]?.parts[index] = (digest, bytes)
  }
}

extension MemorySpaceTransaction {
  var trimmed: UInt64 { keeping.trimmed }

  func trim(through position: UInt64) { keeping.trimmed = max(keeping.trimmed, position) }

  var state: StoredState? { keeping.state }

  func set(_ state: StoredState) { keeping.state = state }

  func set(_ quota: SpaceQuota) { keeping.quota = quota }

  func leases() -> [ReplicaID: Lease] { keeping.leases }

  func set(_ lease: Lease?, of replica: ReplicaID) { keeping.leases[replica] = lease }

  func marks() -> [PositionMark] { keeping.marks }

  func add(_ mark: PositionMark) { keeping.marks.append(mark) }

  func removeMarks(before position: UInt64) { keeping.marks.removeAll { $0.position < position } }
}
#endif
