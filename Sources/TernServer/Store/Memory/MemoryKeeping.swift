#if Server
import Foundation
import TernCore

/// What a space in memory keeps beside its operations. Small, so that a transaction has a copy.
struct MemoryKeeping {
  struct Snapshot {
    var row: StoredSnapshot
    let heads: [ReplicaID: SnapshotHead]
    var parts: [Int: (digest: PartDigest, bytes: [UInt8])] = [:]
  }

  var snapshots: [String: Snapshot] = [:]
  /// Of snapshots that can be brought back.
  var dropped: [Int64: (snapshot: Snapshot, time: Date)] = [:]
  /// How many were dropped ever.
  var drops: Int64 = 0
  var trimmed: UInt64 = 0
  /// Up to here operations don't count any more.
  var released: UInt64 = 0
  /// Up to here operations have lost their bytes.
  var emptied: UInt64 = 0
  var leases: [ReplicaID: Lease] = [:]
  var marks: [MarkKind: [PositionMark]] = [:]
  var state: StoredState?
  var quota = SpaceQuota()
  var authors: [ReplicaID: AuthorRecord] = [:]
  var deadlines = SpaceDeadlines()

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

  func snapshotHeads(of id: String) -> [ReplicaID: SnapshotHead] {
    keeping.snapshots[id]?.heads ?? [:]
  }

  func add(_ snapshot: StoredSnapshot, heads: [ReplicaID: SnapshotHead]) {
    precondition(keeping.snapshots[snapshot.id] == nil, "a snapshot is added once")
    keeping.snapshots[snapshot.id] = .init(row: snapshot, heads: heads)
  }

  func update(_ snapshot: StoredSnapshot) { keeping.snapshots[snapshot.id]?.row = snapshot }

  func drop(_ id: String, keptFrom time: Date?) {
    guard let snapshot = keeping.snapshots.removeValue(forKey: id), let time else { return }
    keeping.drops += 1
    keeping.dropped[keeping.drops] = (snapshot, time)
  }

  func droppedSnapshots() -> [DroppedSnapshot] {
    let dropped = keeping.dropped.map {
      DroppedSnapshot(
        id: $1.snapshot.row.id, row: $0, position: $1.snapshot.row.position,
        bytes: $1.snapshot.row.bytes, time: $1.time)
    }
    return dropped.sorted { ($0.time, $0.position, $0.row) > ($1.time, $1.position, $1.row) }
  }

  func update(_ dropped: DroppedSnapshot) {
    keeping.dropped[dropped.row]?.time = dropped.time
  }

  func bringBack(_ dropped: DroppedSnapshot) -> Bool {
    guard keeping.snapshots[dropped.id] == nil,
      let back = keeping.dropped.removeValue(forKey: dropped.row)
    else { return false }
    keeping.snapshots[dropped.id] = back.snapshot
    return true
  }

  func forget(_ dropped: DroppedSnapshot) { keeping.dropped[dropped.row] = nil }

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

  func releaseTrimmed(operations: Int) -> Bool {
    let most = keeping.released + UInt64(operations)
    keeping.released = min(keeping.trimmed, most)
    return keeping.released < keeping.trimmed
  }

  func untrim() -> UntrimmedOperations {
    let back = keeping.emptied..<keeping.released
    (keeping.trimmed, keeping.released) = (keeping.emptied, keeping.emptied)
    return UntrimmedOperations(
      trimmed: keeping.trimmed, counted: space?.counted(at: back, keeping.authors) ?? .init())
  }

  var state: StoredState? { keeping.state }

  func set(_ state: StoredState) { keeping.state = state }

  func set(_ quota: SpaceQuota) { keeping.quota = quota }

  var deadlines: SpaceDeadlines { keeping.deadlines }

  func set(_ deadlines: SpaceDeadlines) { keeping.deadlines = deadlines }

  func leases() -> [ReplicaID: Lease] { keeping.leases }

  func set(_ lease: Lease?, of replica: ReplicaID) { keeping.leases[replica] = lease }

  func marks(_ kind: MarkKind) -> [PositionMark] { keeping.marks[kind] ?? [] }

  func add(_ mark: PositionMark, _ kind: MarkKind) {
    keeping.marks[kind, default: []].append(mark)
  }

  func removeMarks(before position: UInt64, _ kind: MarkKind) {
    keeping.marks[kind]?.removeAll { $0.position < position }
  }
}
#endif
