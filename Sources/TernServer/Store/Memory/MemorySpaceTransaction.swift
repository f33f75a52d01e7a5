#if Server
import TernCore

/// Collects what a transaction writes, so that leaving it out is the rollback.
final class MemorySpaceTransaction: SpaceTransaction {
  let position: UInt64
  let spacesBefore: Int?
  var keeping: MemoryKeeping

  private let name: SpaceName
  /// Dropped before the commit writes, which would copy the whole space otherwise.
  private var space: MemorySpace?
  private var operations: [NewOperation] = []
  private var base: OperationDigest?
  private var newHeads: [ReplicaID: AuthorHead] = [:]
  /// The space without some bases, where it is to be so.
  private var passed: MemorySpace?
  private var tokens: [TokenRecord] = []
  /// Those of the store; dropped before the commit writes.
  private var known: [TokenDigest: TokenRecord]

  init(_ name: SpaceName, in contents: MemorySpaceStore.Contents) {
    self.name = name
    space = contents.spaces[name]
    known = contents.tokens
    position = space?.position ?? 0
    keeping = space?.keeping ?? MemoryKeeping()
    spacesBefore = space == nil ? contents.spaces.count : nil
  }

  func heads(of authors: Set<ReplicaID>) -> [ReplicaID: AuthorHead] {
    heads().filter { authors.contains($0.key) }
  }

  func heads() -> [ReplicaID: AuthorHead] { space?.heads ?? [:] }

  var usage: SpaceUsage { space?.usage ?? SpaceUsage() }

  func digests(of keys: [OperationKey]) -> [OperationKey: OperationDigest] {
    var digests: [OperationKey: OperationDigest] = [:]
    for key in keys { digests[key] = space?.digest(of: key) }
    return digests
  }

  func position(of key: OperationKey) -> UInt64? { space?.position(of: key) }

  var basePosition: UInt64 { space?.basePosition ?? 0 }

  func chain(at position: UInt64) -> ChainDigest? { space?.chain(at: position) }

  func append(_ operations: [NewOperation], heads: [ReplicaID: AuthorHead]) {
    precondition(self.operations.isEmpty && base == nil, "append at most once in a transaction")
    self.operations = operations
    newHeads = heads
  }

  func appendBase(_ digest: OperationDigest, heads: [ReplicaID: AuthorHead]) -> ChainDigest {
    precondition(operations.isEmpty && base == nil, "append at most once in a transaction")
    base = digest
    newHeads = heads
    return ChainDigest(after: chain(at: position), digest)
  }

  func passBases(after position: UInt64, held: [ReplicaID: SnapshotHead]) throws
    -> [ReplicaID: AuthorHead?]
  {
    precondition(operations.isEmpty && base == nil, "a transaction that appends passes no base")
    keeping.state = nil
    passed = space
    return try passed?.passBases(after: position, held: held) ?? [:]
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

  /// What a quota counts of the operations behind so many positions.
  func counted(at places: Range<UInt64>) -> CountedOperations {
    places.reduce(CountedOperations()) { sum, place in
      guard let entry = space?.entries[Int(place)], !entry.isBase, !entry.isPassed,
        keeping.authors[entry.author]?.bannedAfter == nil
      else { return sum }
      return sum + CountedOperations(operations: 1, bytes: entry.bytes.count)
    }
  }

  func add(_ token: TokenDigest, of member: MemberName?, createdMilliseconds: Int64) {
    tokens.append(
      TokenRecord(
        digest: token, space: name, member: member, createdMilliseconds: createdMilliseconds))
  }

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

  func members(atMost count: Int) -> Set<MemberName> {
    let own = (tokens + known.values).filter { $0.space == name }
    return Set(Set(own.compactMap(\.member)).sorted().prefix(count))
  }

  func commit(to contents: inout MemorySpaceStore.Contents) {
    (space, known) = (nil, [:])
    if let passed { contents.spaces[name] = passed }
    passed = nil
    contents.spaces[name, default: MemorySpace()].append(operations, base: base, heads: newHeads)
    contents.spaces[name]?.keep(keeping)
    for token in tokens { contents.tokens[token.digest] = token }
  }
}
#endif
