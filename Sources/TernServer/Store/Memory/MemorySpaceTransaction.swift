#if Server
import Foundation
import TernCore

/// What a transaction writes.
struct MemoryWrites {
  let space: SpaceName
  let standing: SpaceStanding
  var keeping: MemoryKeeping
  fileprivate(set) var operations: [NewOperation] = []
  fileprivate(set) var base: OperationDigest?
  fileprivate(set) var heads: [ReplicaID: AuthorHead] = [:]
  /// The space without some bases, where it is to be so.
  fileprivate(set) var passed: MemorySpace?
  /// `nil` for those that it removes.
  fileprivate(set) var tokens: [TokenDigest: TokenRecord?] = [:]
  fileprivate(set) var audit: [(entry: AuditEntry, keeping: Int)] = []
}

extension MemorySpaceStore.Contents {
  mutating func write(_ writes: MemoryWrites) {
    let space = writes.space
    if let passed = writes.passed { spaces[space] = passed }
    spaces[space, default: MemorySpace(epoch: writes.standing.epoch)].append(
      writes.operations, base: writes.base, heads: writes.heads)
    spaces[space]?.keep(writes.keeping)
    for (digest, token) in writes.tokens { tokens[digest] = token }
    for (entry, records) in writes.audit { record(entry, keeping: records) }
  }
}

private struct MemoryAuditRows: AuditRows {
  let transaction: MemorySpaceTransaction

  func add(_ entry: AuditEntry, keeping records: Int) {
    transaction.writes.audit.append((entry, records))
  }
}

/// Collects what a transaction writes, so that leaving it out is the rollback. To be let go before
/// that is written, which would copy the whole space otherwise.
final class MemorySpaceTransaction: SpaceTransaction {
  let position: UInt64
  let spacesBefore: Int?
  fileprivate(set) var writes: MemoryWrites
  var keeping: MemoryKeeping {
    get { writes.keeping }
    _modify { yield &writes.keeping }
  }

  let space: MemorySpace?
  /// Those of the store.
  private let known: [TokenDigest: TokenRecord]

  /// - Parameter epoch: the store's.
  init(_ name: SpaceName, in contents: MemorySpaceStore.Contents, _ epoch: String) {
    space = contents.spaces[name]
    known = contents.tokens
    position = space?.position ?? 0
    writes = MemoryWrites(
      space: name, standing: SpaceStanding(epoch: epoch), keeping: space?.keeping ?? MemoryKeeping()
    )
    spacesBefore = space == nil ? contents.spaces.count : nil
  }

  var standing: SpaceStanding { writes.standing }

  func heads(of authors: Set<ReplicaID>) -> [ReplicaID: AuthorHead] {
    heads().filter { authors.contains($0.key) }
  }

  func heads() -> [ReplicaID: AuthorHead] { space?.heads ?? [:] }

  var suspended: Date? { space?.keeping.deadlines.suspended }

  var usage: SpaceUsage { space?.usage ?? SpaceUsage() }

  func digests(of keys: [OperationKey]) -> [OperationKey: OperationDigest] {
    var digests: [OperationKey: OperationDigest] = [:]
    for key in keys { digests[key] = space?.digest(of: key) }
    return digests
  }

  func position(of key: OperationKey) -> UInt64? { space?.position(of: key) }

  var basePosition: UInt64 { space?.basePosition ?? 0 }

  func chain(at position: UInt64) -> ChainDigest? { space?.chain(at: position) }

  func append(_ operations: [NewOperation], heads: [ReplicaID: AuthorHead]) -> ChainDigest? {
    precondition(
      writes.operations.isEmpty && writes.base == nil, "append at most once in a transaction")
    (writes.operations, writes.heads) = (operations, heads)
    return operations.reduce(chain(at: position)) { ChainDigest(after: $0, $1.digest) }
  }

  func appendBase(_ digest: OperationDigest, heads: [ReplicaID: AuthorHead]) -> ChainDigest {
    precondition(
      writes.operations.isEmpty && writes.base == nil, "append at most once in a transaction")
    (writes.base, writes.heads) = (digest, heads)
    return ChainDigest(after: chain(at: position), digest)
  }

  func passBases(after position: UInt64, held: [ReplicaID: SnapshotHead]) throws
    -> [ReplicaID: AuthorHead?]
  {
    precondition(
      writes.operations.isEmpty && writes.base == nil, "a transaction that appends passes no base")
    keeping.state = nil
    writes.passed = space
    return try writes.passed?.passBases(after: position, held: held) ?? [:]
  }

  func removeTrimmed(through position: UInt64, operations: Int, contentBytes: Int) -> Bool {
    guard let space else { return false }
    let start = keeping.emptied
    let last = max(start, min(position, keeping.released))
    var bytes = 0
    for position in (start..<last).prefix(operations) {
      bytes += space.entries[Int(position)].bytes.count
      if bytes > contentBytes, position > start { break }
      keeping.emptied += 1
    }
    return keeping.emptied < last
  }

  func add(_ token: TokenRecord) { writes.tokens[token.digest] = token }

  func remove(_ token: TokenDigest) -> TokenRecord? {
    let found = writes.tokens[token] ?? known[token]
    guard let found, found.space == writes.space else { return nil }
    writes.tokens.updateValue(nil, forKey: token)
    return found
  }

  var audit: any AuditRows { MemoryAuditRows(transaction: self) }

  func authorRecords(of authors: Set<ReplicaID>) -> [ReplicaID: AuthorRecord] {
    keeping.authors.filter { authors.contains($0.key) }
  }

  func set(_ record: AuthorRecord, of author: ReplicaID) { keeping.authors[author] = record }

  var authorCount: Int { heads().keys.count { keeping.authors[$0]?.bannedAfter == nil } }

  var headCount: Int { heads().count }

  func authorCount(of member: MemberName?) -> Int {
    keeping.authors.values.count { $0.counts(for: member) }
  }

  var counted: CountedOperations {
    space?.counted.values.reduce(CountedOperations(), +) ?? CountedOperations()
  }

  func counted(of member: MemberName?) -> CountedOperations {
    let owned = keeping.authors.filter { $0.value.counts(for: member) }
    return owned.keys.reduce(CountedOperations()) { $0 + (space?.counted[$1] ?? .init()) }
  }

  func members(atMost count: Int, withClaims claims: Bool) -> Set<MemberName> {
    let tokens = known.mapValues(Optional.some).merging(writes.tokens) { $1 }
    let own = tokens.values.compactMap(\.self).filter { $0.space == writes.space }
    let claiming = keeping.authors.values.filter { claims && $0.bannedAfter == nil }
    let all = own.compactMap(\.member) + claiming.compactMap(\.member)
    return Set(Set(all).sorted().prefix(count))
  }
}
#endif
