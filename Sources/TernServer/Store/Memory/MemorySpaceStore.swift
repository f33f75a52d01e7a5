#if Server
import Foundation
import Synchronization
import TernCore

/// A store that lives as long as its object: for tests, previews and simulations.
public final class MemorySpaceStore: SpaceStore {
  public let epoch: String
  private let contents: Mutex<Contents>

  struct Contents {
    var spaces: [SpaceName: MemorySpace] = [:]
    var tokens: [TokenDigest: TokenRecord] = [:]
    /// The oldest first.
    var audit: [AuditRecord] = []

    mutating func record(_ entry: AuditEntry, keeping records: Int) {
      audit.append(AuditRecord(number: (audit.last?.number ?? 0) + 1, entry))
      audit.removeFirst(max(0, audit.count - records))
    }
  }

  public init(using generator: inout some RandomNumberGenerator) {
    epoch = Epoch.draw(using: &generator)
    contents = Mutex(Contents())
  }

  /// A store that begins with what `other` holds now, its epoch included: a restored backup.
  public init(copying other: MemorySpaceStore) {
    epoch = other.epoch
    contents = Mutex(other.contents.withLock { $0 })
  }

  public func summary(of space: SpaceName) -> SpaceSummary {
    contents.withLock {
      $0.spaces[space]?.summary ?? SpaceSummary(standing: SpaceStanding(epoch: epoch))
    }
  }

  public func standing(of space: SpaceName) -> SpaceStanding? {
    contents.withLock { $0.spaces[space]?.standing }
  }

  public func position(of space: SpaceName) -> UInt64 {
    contents.withLock { $0.spaces[space]?.position ?? 0 }
  }

  public func heads(of spaces: [SpaceName]) -> [SpaceName: SpaceHead] {
    contents.withLock { contents in
      Dictionary(
        uniqueKeysWithValues: Set(spaces).compactMap { space in
          contents.spaces[space].map {
            (space, SpaceHead(position: $0.position, chain: $0.chain(at: $0.position)))
          }
        })
    }
  }

  public func page(
    of space: SpaceName, after position: UInt64, excluding excluded: ReplicaID?,
    contentBytes: Int, operations: Int
  ) -> StoredPage {
    contents.withLock {
      $0.spaces[space, default: MemorySpace(epoch: epoch)]
        .page(
          after: position, excluding: excluded, contentBytes: contentBytes, operations: operations)
    }
  }

  public func update<Value: Sendable>(
    _ space: SpaceName, _ body: (any SpaceTransaction) throws -> Value
  ) throws -> Value {
    try contents.withLock { contents in
      let (value, writes) = try Self.run(body, MemorySpaceTransaction(space, in: contents, epoch))
      contents.write(writes)
      return value
    }
  }

  /// The transaction is gone when this returns. One that was still there would have each write copy
  /// its space.
  private static func run<Value>(
    _ body: (any SpaceTransaction) throws -> Value, _ transaction: MemorySpaceTransaction
  ) rethrows -> (Value, MemoryWrites) {
    (try body(transaction), transaction.writes)
  }

  public func snapshotPart(
    _ index: Int, of id: String, in space: SpaceName, isWhole: Bool
  ) -> [UInt8]? {
    contents.withLock { contents in
      guard let snapshot = contents.spaces[space]?.keeping.snapshots[id],
        snapshot.row.isComplete == isWhole
      else { return nil }
      return snapshot.parts[index]?.bytes
    }
  }

  public func lease(of replica: ReplicaID, in space: SpaceName) -> Lease? {
    contents.withLock { $0.spaces[space]?.keeping.leases[replica] }
  }

  /// By name, so that a simulation repeats.
  public func spaces() -> [SpaceName] {
    contents.withLock { $0.spaces.keys.sorted { $0.text < $1.text } }
  }

  public func removeSpace(
    _ space: SpaceName, recording entry: AuditEntry?, keeping records: Int
  ) -> Bool {
    contents.withLock { contents in
      contents.tokens = contents.tokens.filter { $0.value.space != space }
      guard contents.spaces.removeValue(forKey: space) != nil else { return false }
      if let entry { contents.record(entry, keeping: records) }
      return true
    }
  }

  public func auditRecords(
    after number: UInt64, of space: SpaceName?, atMost count: Int
  ) -> [AuditRecord] {
    contents.withLock { contents in
      let found = contents.audit.lazy.filter {
        $0.number > number && (space == nil || $0.entry.space == space)
      }
      return Array(found.prefix(count))
    }
  }

  public func authorRecord(of replica: ReplicaID, in space: SpaceName) -> AuthorRecord? {
    contents.withLock { $0.spaces[space]?.keeping.authors[replica] }
  }

  public func authorRecords(of space: SpaceName) -> [ReplicaID: AuthorRecord] {
    contents.withLock { $0.spaces[space]?.keeping.authors ?? [:] }
  }

  public func removeRemains(rows: Int, contentBytes: Int) -> Bool { false }

  public func usage(of space: SpaceName) -> SpaceUsage {
    contents.withLock { $0.spaces[space]?.usage ?? SpaceUsage() }
  }

  public func spaceKeepingMost() -> SpaceName? {
    contents.withLock { contents in
      contents.spaces.map { ($0.value.usage.keptBytes, $0.key) }.filter { $0.0 > 0 }
        .max { ($0.0, $0.1.text) < ($1.0, $1.1.text) }?.1
    }
  }

  public func reusableBytes() -> Int { 0 }

  public func statistics() -> StoreStatistics {
    let usages = contents.withLock { $0.spaces.values.map(\.usage) }
    return StoreStatistics(
      spaces: usages.count, bytes: usages.reduce(0) { $0 + $1.bytes },
      keptBytes: usages.reduce(0) { $0 + $1.keptBytes })
  }

  public func token(_ digest: TokenDigest) -> TokenRecord? {
    contents.withLock { $0.tokens[digest] }
  }

  public func tokens(of digests: [TokenDigest]) -> [TokenRecord] {
    contents.withLock { contents in digests.compactMap { contents.tokens[$0] } }
  }

  public func tokens() -> [TokenRecord] {
    contents.withLock { contents in
      contents.tokens.values.sorted {
        ($0.created, $0.digest.description)
          < ($1.created, $1.digest.description)
      }
    }
  }
}
#endif
