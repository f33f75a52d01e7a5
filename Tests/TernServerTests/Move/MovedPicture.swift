#if Server
import Foundation
import TernCore

@testable import TernServer

/// Everything that a store has of a space, by each way in which it can be read.
struct MovedPicture: Equatable {
  /// Every row of every table, but for the numbers by which a store knows its own.
  var rows: [String: [[StoredValue]]] = [:]
  /// What the store says through its protocol.
  let summary: SpaceSummary
  let usage: SpaceUsage
  let page: StoredPage
  let records: [ReplicaID: AuthorRecord]
  let tokens: [TokenRecord]
  let locked: Locked

  /// What it says of a space that is locked.
  struct Locked: Equatable, Sendable {
    var heads: [ReplicaID: AuthorHead]
    var leases: [ReplicaID: Lease]
    var marks: [PositionMark]
    var trimMarks: [PositionMark]
    var snapshots: [StoredSnapshot]
    var snapshotHeads: [[ReplicaID: SnapshotHead]]
    var dropped: [DroppedSnapshot]
    var state: StoredState?
    var deadlines: SpaceDeadlines
    var counted: CountedOperations
    var chains: [ChainDigest?]
    var digests: [OperationKey: OperationDigest]
    var base: UInt64
  }

  init(_ store: any MovableStore, _ space: SpaceName) throws {
    // Where it stands is not where it came from.
    func here(_ standing: SpaceStanding) -> SpaceStanding { SpaceStanding(epoch: standing.epoch) }
    var summary = try store.summary(of: space)
    summary.standing = here(summary.standing)
    var page = try store.page(
      of: space, after: summary.trimmed, excluding: nil, contentBytes: 1 << 30, operations: 1_000)
    page.standing = here(page.standing)
    (self.summary, self.page) = (summary, page)
    usage = try store.usage(of: space)
    records = try store.authorRecords(of: space)
    tokens = try store.tokens().filter { $0.space == space }.map { token in
      var token = token
      token.phase = .served
      return token
    }
    locked = try store.update(space) { try Locked($0) }
    rows = try store.readRows(of: space) { try Self.rows($0) } ?? [:]
  }

  private static func rows(_ rows: RawRows) throws -> [String: [[StoredValue]]] {
    var all: [String: [[StoredValue]]] = [:]
    for table in [SpaceTable.space] + SpaceTable.small {
      all[table.name] = try rows.rows(of: table)
    }
    all["operation"] = try rows.operations(after: .min, rows: 10_000, contentBytes: .max)
    for snapshot in try rows.snapshots() where snapshot.label != nil {
      all["snapshot", default: []].append(snapshot.row)
      for part in try rows.parts(of: snapshot.id) {
        let whole = try rows.part(part[0].integer ?? 0, of: snapshot.id) ?? []
        all["snapshot_part", default: []].append([StoredValue(snapshot.label)] + whole)
      }
    }
    return all
  }
}

extension MovedPicture.Locked {
  init(_ rows: any SpaceTransaction) throws {
    let snapshots = try rows.snapshots()
    let heads = try rows.heads()
    let keys = heads.flatMap { author, head in
      (0...head.sequence).map { OperationKey(author: author, sequence: $0) }
    }
    self.init(
      heads: heads, leases: try rows.leases(), marks: try rows.marks(.stored),
      trimMarks: try rows.marks(.trimmed), snapshots: snapshots,
      snapshotHeads: try snapshots.map { try rows.snapshotHeads(of: $0.id) },
      dropped: try rows.droppedSnapshots().map {
        DroppedSnapshot(id: $0.id, row: 0, position: $0.position, bytes: $0.bytes, time: $0.time)
      },
      state: try rows.state, deadlines: try rows.deadlines, counted: try rows.counted,
      chains: try (0...rows.position).map { try rows.chain(at: $0) },
      digests: try rows.digests(of: keys), base: try rows.basePosition)
  }
}
#endif
