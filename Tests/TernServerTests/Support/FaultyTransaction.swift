#if Server
import Foundation
import TernCore

@testable import TernServer

/// A transaction in front of another one that breaks one promise.
final class FaultyTransaction: SpaceTransaction {
  private let base: any SpaceTransaction
  private let fault: FaultyStore.Fault

  init(_ base: any SpaceTransaction, _ fault: FaultyStore.Fault) {
    self.base = base
    self.fault = fault
  }

  var position: UInt64 { base.position }
  var spacesBefore: Int? {
    get throws { fault == .countsNoSpaces ? 0 : try base.spacesBefore }
  }

  var standing: SpaceStanding {
    var standing = base.standing
    if fault == .forgetsEpoch { standing.epoch = "" }
    return standing
  }

  func heads(of authors: Set<ReplicaID>) throws -> [ReplicaID: AuthorHead] {
    fault == .givesAllHeads ? try base.heads() : try base.heads(of: authors)
  }
  func heads() throws -> [ReplicaID: AuthorHead] { try base.heads() }
  func digests(of keys: [OperationKey]) throws -> [OperationKey: OperationDigest] {
    try base.digests(of: keys)
  }
  func position(of key: OperationKey) throws -> UInt64? { try base.position(of: key) }
  func chain(at position: UInt64) throws -> ChainDigest? {
    try base.chain(at: fault == .chainsBeyond ? min(position, base.position) : position)
  }
  func append(_ operations: [NewOperation], heads: [ReplicaID: AuthorHead]) throws -> ChainDigest? {
    try base.append(operations, heads: heads)
  }
  func appendBase(_ digest: OperationDigest, heads: [ReplicaID: AuthorHead]) throws -> ChainDigest {
    try base.appendBase(digest, heads: fault == .losesBaseHeads ? [:] : heads)
  }
  var basePosition: UInt64 { get throws { try base.basePosition } }
  func passBases(after position: UInt64, held: [ReplicaID: SnapshotHead]) throws
    -> [ReplicaID: AuthorHead?]
  {
    if fault == .keepsBases { return [:] }
    return try base.passBases(after: position, held: fault == .passesHeld ? [:] : held)
  }

  var state: StoredState? { get throws { try base.state } }
  func set(_ state: StoredState) throws {
    if fault == .keepsFirstReport, try base.state != nil { return }
    try base.set(state)
  }
  var usage: SpaceUsage { get throws { try base.usage } }
  func set(_ quota: SpaceQuota) throws {
    if fault != .keepsQuota || quota != SpaceQuota() { try base.set(quota) }
  }
  var suspended: Date? { base.suspended }
  var deadlines: SpaceDeadlines { get throws { try base.deadlines } }
  func set(_ deadlines: SpaceDeadlines) throws {
    var known = deadlines
    if fault == .staysSuspended {
      known.suspended = try known.suspended ?? base.deadlines.suspended
    }
    if fault == .keepsDeadlines { known.refill = try known.refill ?? base.deadlines.refill }
    try base.set(known)
  }
  func add(_ token: TokenRecord) throws { try base.add(token) }
  func remove(_ token: TokenDigest) throws -> TokenRecord? {
    var record = try base.remove(token)
    if fault == .forgetsExpiry { record?.expires = nil }
    return record
  }
  var audit: any AuditRows { FaultyAuditRows(base: base.audit, fault: fault) }
}

private struct FaultyAuditRows: AuditRows {
  let base: any AuditRows
  let fault: FaultyStore.Fault

  func add(_ entry: AuditEntry, keeping records: Int) throws {
    try base.add(entry, keeping: fault == .keepsOldRecords ? .max : records)
  }
}

extension FaultyTransaction {
  func snapshots() throws -> [StoredSnapshot] {
    let snapshots = try base.snapshots()
    return fault == .snapshotsUnordered ? snapshots.reversed() : snapshots
  }
  func snapshotHeads(of id: String) throws -> [ReplicaID: SnapshotHead] {
    try base.snapshotHeads(of: id)
  }
  func add(_ snapshot: StoredSnapshot, heads: [ReplicaID: SnapshotHead]) throws {
    try base.add(snapshot, heads: heads)
  }
  func update(_ snapshot: StoredSnapshot) throws { try base.update(snapshot) }
  func drop(_ id: String, keptFrom time: Date?) throws {
    try base.drop(id, keptFrom: fault == .keepsDropped ? time ?? .distantPast : time)
  }
  func droppedSnapshots() throws -> [DroppedSnapshot] {
    let dropped = try base.droppedSnapshots()
    return fault == .droppedUnordered ? dropped.reversed() : dropped
  }
  func update(_ dropped: DroppedSnapshot) throws { try base.update(dropped) }
  func bringBack(_ dropped: DroppedSnapshot) throws -> Bool {
    if fault == .bringsBackOver { try base.drop(dropped.id, keptFrom: nil) }
    return try base.bringBack(dropped)
  }
  func forget(_ dropped: DroppedSnapshot) throws {
    if fault != .forgetsNothing { try base.forget(dropped) }
  }
  func removeDropped(contentBytes: Int) throws -> Bool {
    try base.removeDropped(contentBytes: contentBytes)
  }
  func storedParts(of id: String) throws -> [Int: PartDigest] { try base.storedParts(of: id) }
  func partDigest(_ index: Int, of id: String) throws -> PartDigest? {
    try base.partDigest(index, of: id)
  }
  func addPart(_ bytes: [UInt8], digest: PartDigest, index: Int, of id: String) throws {
    try base.addPart(bytes, digest: digest, index: index, of: id)
  }
}

extension FaultyTransaction {
  var trimmed: UInt64 { get throws { try base.trimmed } }
  func trim(through position: UInt64) throws {
    try base.trim(through: fault == .trimsMore ? position + 1 : position)
  }
  func releaseTrimmed(operations: Int) throws -> Bool {
    try base.releaseTrimmed(operations: fault == .releasesAll ? 1000 : operations)
  }
  func removeTrimmed(through position: UInt64, operations: Int, contentBytes: Int) throws -> Bool {
    try base.removeTrimmed(
      through: position, operations: operations,
      contentBytes: fault == .emptiesAll ? .max : contentBytes)
  }
  func untrim() throws -> UntrimmedOperations {
    var back = try base.untrim()
    if fault == .countsNothingBack { back.counted = CountedOperations() }
    return back
  }
  func leases() throws -> [ReplicaID: Lease] { fault == .hidesOwn ? [:] : try base.leases() }
  func set(_ lease: Lease?, of replica: ReplicaID) throws { try base.set(lease, of: replica) }
  func marks(_ kind: MarkKind) throws -> [PositionMark] { try base.marks(kind) }
  func add(_ mark: PositionMark, _ kind: MarkKind) throws {
    try base.add(mark, fault == .mixesMarks ? .stored : kind)
  }
  func removeMarks(before position: UInt64, _ kind: MarkKind) throws {
    try base.removeMarks(before: position, kind)
  }
}

extension FaultyTransaction {
  func authorRecords(of authors: Set<ReplicaID>) throws -> [ReplicaID: AuthorRecord] {
    try base.authorRecords(of: authors)
  }
  func set(_ record: AuthorRecord, of author: ReplicaID) throws {
    try base.set(record, of: author)
  }
  var authorCount: Int {
    get throws { fault == .countsBanned ? try base.headCount : try base.authorCount }
  }
  var headCount: Int { get throws { try base.headCount } }
  func authorCount(of member: MemberName?) throws -> Int { try base.authorCount(of: member) }
  var counted: CountedOperations { get throws { try base.counted } }
  func counted(of member: MemberName?) throws -> CountedOperations {
    fault == .countsForAll ? try base.counted : try base.counted(of: member)
  }
  func members(atMost count: Int, withClaims claims: Bool) throws -> Set<MemberName> {
    try base.members(atMost: fault == .givesAllMembers ? .max : count, withClaims: claims)
  }
}
#endif
