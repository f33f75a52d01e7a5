#if Server
import Foundation
import TernCore
import TernServer
import TernTesting

/// An author of operations that only a store sees, so that their bodies need mean nothing.
struct StoreAuthor {
  let id: ReplicaID
  private(set) var sequence: UInt64 = 0
  private var milliseconds: Int64 = 1_700_000_000_000

  init(_ number: UInt64) {
    id = .numbered(number)
  }

  mutating func next(bytes: Int = 10) -> NewOperation {
    sequence += 1
    milliseconds += 10
    let envelope = SyncOperation.Envelope(
      replica: id, sequence: sequence, time: time, continues: false)
    let body = [UInt8](repeating: UInt8(truncatingIfNeeded: sequence), count: bytes)
    return NewOperation(SyncOperation(envelope, body: body))
  }

  mutating func next(_ count: Int, bytes: Int = 10) -> [NewOperation] {
    (0..<count).map { _ in next(bytes: bytes) }
  }

  /// Leaves out numbers, which a base stands for.
  mutating func skip(_ count: Int) {
    for _ in 0..<count { _ = next() }
  }

  private var time: HybridTime { HybridTime(milliseconds: milliseconds) }
  var head: AuthorHead { AuthorHead(sequence: sequence, time: time, continues: false) }
  var snapshotHead: SnapshotHead { SnapshotHead(sequence: sequence, time: time) }
}

extension Collection<NewOperation> {
  var encoded: [[UInt8]] { map(\.operation.bytes) }
  /// As a quota counts them.
  var counted: CountedOperations { CountedOperations(operations: count, bytes: byteCount) }
  var byteCount: Int { reduce(0) { $0 + $1.operation.bytes.count } }

  var heads: [ReplicaID: AuthorHead] {
    var heads: [ReplicaID: AuthorHead] = [:]
    for new in self {
      let envelope = new.operation.envelope
      heads[envelope.replica] = AuthorHead(
        sequence: envelope.sequence, time: envelope.time, continues: envelope.continues)
    }
    return heads
  }

  /// The chain up to each, of those that are a space's first ones.
  var chains: [ChainDigest] {
    var chains: [ChainDigest] = []
    for new in self { chains.append(ChainDigest(after: chains.last, new.digest)) }
    return chains
  }
}

extension Date {
  /// So many seconds after a fixed time.
  static func at(_ seconds: Int) -> Date {
    Date(timeIntervalSince1970: TimeInterval(1_700_000_000 + seconds))
  }
}

extension StoredState {
  static func reported(
    by replica: ReplicaID, at position: UInt64, isDisputed: Bool = false
  ) -> StoredState {
    let report = StateReport(
      replica: replica, cursor: RemoteCursor(rawValue: "cursor \(position)"), operations: position,
      tables: ["book": .init(shape: .max, rows: 1 << 63 + position)])
    return StoredState(
      report: report, position: position, received: .at(Int(position)), isDisputed: isDisputed)
  }
}

/// A space of a store under test, with the steps that scenarios are made of.
struct StoreSpace {
  let store: any SpaceStore
  let name: SpaceName

  init(_ store: any SpaceStore, named name: String = "home") throws {
    self.store = store
    self.name = try SpaceName(name)
  }

  /// Another space of the same store.
  func beside(_ name: String = "beside") throws -> StoreSpace { try StoreSpace(store, named: name) }

  @discardableResult
  func update<Value: Sendable>(_ body: (any SpaceTransaction) throws -> Value) throws -> Value {
    try store.update(name, body)
  }

  /// A token of this space.
  func token(_ name: String, of member: MemberName? = nil, created: Int = 1) -> TokenRecord {
    TokenRecord(
      digest: TokenDigest(token: name), space: self.name, member: member, created: .at(created))
  }

  func append(_ operations: [NewOperation]) throws {
    try update { try $0.append(operations, heads: operations.heads) }
  }

  func page(
    after position: UInt64 = 0, excluding excluded: ReplicaID? = nil, contentBytes: Int = 1 << 30,
    operations: Int = 1000
  ) throws -> StoredPage {
    try store.page(
      of: name, after: position, excluding: excluded, contentBytes: contentBytes,
      operations: operations)
  }

  var usage: SpaceUsage { get throws { try store.usage(of: name) } }
  var summary: SpaceSummary { get throws { try store.summary(of: name) } }

  /// That of a space with nothing in it, made in the store or not there.
  var emptySummary: SpaceSummary { SpaceSummary(standing: SpaceStanding(epoch: store.epoch)) }

  /// Adds a snapshot with its parts, each in the step in which a server does it.
  @discardableResult
  func upload(
    _ id: String, at position: UInt64, _ parts: [[UInt8]], isComplete: Bool = true,
    heads: [ReplicaID: SnapshotHead] = [:]
  ) throws -> StoredSnapshot {
    var snapshot = StoredSnapshot(
      id: id, cursor: RemoteCursor(rawValue: "cursor \(position)"), position: position,
      isBase: false, schema: SnapshotSchema(version: 3), parts: parts.count, touched: .at(1))
    let new = snapshot
    try update { try $0.add(new, heads: heads) }
    for (index, part) in parts.enumerated() {
      snapshot.bytes += part.count
      let known = snapshot
      try update {
        try $0.addPart(part, digest: PartDigest(part: part), index: index, of: id)
        try $0.update(known)
      }
    }
    snapshot.isComplete = isComplete
    let whole = snapshot
    try update { try $0.update(whole) }
    return whole
  }

  /// Takes steps until there are no more, of which there are so many at most.
  func drain(_ what: String, most: Int = 500, _ step: () throws -> Bool) throws {
    for _ in 0..<most where try !step() { return }
    throw ConformanceFailure(.drains, "\(what) has no end after \(most) steps")
  }

  /// Everything that can be read of the space and of the store's lists.
  func picture() throws -> StorePicture {
    // Not within the update, which may lock the store.
    let (summary, usage) = try (summary, usage)
    let page = try page(after: summary.trimmed)
    let records = try store.authorRecords(of: name)
    let (spaces, tokens) = try (store.spaces(), store.tokens())
    let audit = try store.auditRecords(after: 0, of: nil, atMost: 1_000)
    return try update { transaction in
      StorePicture(
        summary: summary, usage: usage, page: page, records: records, spaces: spaces,
        tokens: tokens, audit: audit, heads: try transaction.heads(),
        leases: try transaction.leases(), stored: try transaction.marks(.stored),
        trimmed: try transaction.marks(.trimmed), snapshots: try transaction.snapshots(),
        dropped: try transaction.droppedSnapshots(), parts: try transaction.storedParts(of: "kept"),
        deadlines: try transaction.deadlines, base: try transaction.basePosition)
    }
  }
}

struct StorePicture: Equatable, Sendable {
  let summary: SpaceSummary
  let usage: SpaceUsage
  let page: StoredPage
  let records: [ReplicaID: AuthorRecord]
  let spaces: [SpaceName]
  let tokens: [TokenRecord]
  var audit: [AuditRecord]
  let heads: [ReplicaID: AuthorHead]
  let leases: [ReplicaID: Lease]
  let stored: [PositionMark]
  let trimmed: [PositionMark]
  let snapshots: [StoredSnapshot]
  let dropped: [DroppedSnapshot]
  let parts: [Int: PartDigest]
  let deadlines: SpaceDeadlines
  let base: UInt64
}
#endif
