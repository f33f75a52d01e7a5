import Foundation
import Tern
import TernTesting

/// A store under test with the steps that scenarios are made of.
struct StoreUnderTest {
  static let remoteID = "conformance"

  let subject: ReplicaStoreConformance.Subject
  let id: ReplicaID
  var store: any ReplicaStore { subject.store }

  init(_ conformance: ReplicaStoreConformance, _ number: UInt64) throws {
    id = .numbered(number)
    subject = try conformance.makeSubject(id)
  }

  /// Writes in one transaction and seals: one group.
  @discardableResult
  func commit(_ changes: ReplicaStoreConformance.Change...) throws -> [SyncOperation] {
    try commit(changes)
  }

  func commit(_ changes: [ReplicaStoreConformance.Change]) throws -> [SyncOperation] {
    try subject.write(changes)
    var heads = VersionVector()
    let sealed = try store.seal()
    guard !sealed.isEmpty else { return [] }
    for (replica, sequence) in try store.versionVector().sequences { heads[replica] = sequence }
    heads[id] = sealed.lowerBound - 1
    return try store.operations(lackedBy: heads, maximumBytes: .max)
  }

  @discardableResult
  func merge(_ operations: [SyncOperation], cursor: String = "1", now: Int64 = 0) throws
    -> MergeSummary
  {
    let cursor = RemoteCursor(rawValue: cursor)
    return try store.merge(
      PulledPage(
        operations: operations, cursor: cursor, hasMore: false, now: Date(milliseconds: now)),
      from: RemotePlace(remoteID: Self.remoteID, epoch: "e", cursor: cursor))
  }

  /// Merges what `other` has and this one lacks.
  func pull(from other: StoreUnderTest) throws {
    try other.store.seal()
    try merge(
      other.store.operations(lackedBy: store.versionVector(), maximumBytes: .max))
  }

  /// Both pull from each other until neither has news.
  func meet(_ other: StoreUnderTest) throws {
    try pull(from: other)
    try other.pull(from: self)
  }

  func all() throws -> [SyncOperation] {
    try store.operations(lackedBy: VersionVector(), maximumBytes: .max)
  }

  func row(_ key: SQLiteValue) throws -> CanonicalRow? {
    try store.canonicalState().first { $0.key == [key] }
  }

  func value(_ key: SQLiteValue, _ column: String) throws -> SQLiteValue? {
    try row(key)?.cells[column]?.value
  }

  func requireState(of other: StoreUnderTest, _ what: String) throws {
    let (mine, others) = (try store.canonicalState(), try other.store.canonicalState())
    try require(
      .convergence, mine == others,
      "the state \(what) differs: \(Self.difference(mine, others))")
  }

  static func difference(_ left: [CanonicalRow], _ right: [CanonicalRow]) -> String {
    let (left, right) = (Set(left), Set(right))
    return "\(left.subtracting(right)) against \(right.subtracting(left))"
  }

  /// Everything that a refused merge must leave as it was.
  struct Picture: Equatable {
    let state: [CanonicalRow]
    let vector: VersionVector
    let counts: ReplicaCounts
    let place: RemotePlace?
    let log: [SyncOperation]
  }

  func picture() throws -> Picture {
    Picture(
      state: try store.canonicalState(), vector: try store.versionVector(),
      counts: try store.counts(), place: try store.place(at: Self.remoteID), log: try all())
  }

  /// Merges a page that must be refused whole.
  func refuses(
    _ operations: [SyncOperation], _ invariant: Invariant, _ what: String,
    where isExpected: (any Error) -> Bool
  ) throws {
    let before = try picture()
    do {
      try merge(operations, cursor: "refused")
    } catch {
      try require(invariant, isExpected(error), "\(what) was refused with another error: \(error)")
      try require(
        .operationsAreAtomic, try picture() == before,
        "\(what) was refused, and something of its page stayed")
      return
    }
    throw ConformanceFailure(invariant, "\(what) was merged")
  }
}
