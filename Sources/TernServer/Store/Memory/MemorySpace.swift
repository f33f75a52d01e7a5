#if Server
import TernCore

/// One space in memory. The operation at position n is at index n − 1.
struct MemorySpace {
  struct Entry {
    var author: ReplicaID
    var bytes: [UInt8]
    var digest: OperationDigest
    var chain: ChainDigest

    var isBase: Bool { author == .ofBases }
    var isPassed: Bool { author == .ofPassed }
  }

  private(set) var entries: [Entry] = []
  private(set) var heads: [ReplicaID: AuthorHead] = [:]
  private(set) var keeping = MemoryKeeping()
  /// Of its operations that are not released.
  private var bytes = 0
  /// Of those that are, and have their bytes.
  private var releasedBytes = 0
  private var positions: [OperationKey: Int] = [:]
  /// Of every author, what of its operations is not released.
  private(set) var counted: [ReplicaID: CountedOperations] = [:]

  /// Nothing in memory moves.
  let standing: SpaceStanding

  /// - Parameter epoch: the store's.
  init(epoch: String) { standing = SpaceStanding(epoch: epoch) }

  var position: UInt64 { UInt64(entries.count) }

  var summary: SpaceSummary {
    let newest = keeping.newest
    return SpaceSummary(
      standing: standing, position: position,
      heads: VersionVector(heads.mapValues(\.sequence)),
      trimmed: keeping.trimmed, snapshot: newest?.row,
      snapshotHeads: VersionVector((newest?.heads ?? [:]).mapValues(\.sequence)),
      refused: keeping.rows.filter { $0.refusal != nil }.map(\.touched).max(),
      state: keeping.state, newestTime: heads.values.map(\.time).max() ?? .zero,
      suspended: keeping.deadlines.suspended)
  }

  var usage: SpaceUsage {
    var usage = SpaceUsage(
      bytes: bytes + keeping.rows.reduce(0) { $0 + $1.bytes },
      operations: counted.values.reduce(0) { $0 + $1.operations }, quota: keeping.quota)
    usage.banned = keeping.authors.reduce(CountedOperations()) { sum, author in
      author.value.bannedAfter == nil ? sum : sum + (counted[author.key] ?? .init())
    }
    usage.keptBytes =
      releasedBytes + keeping.dropped.values.reduce(0) { $0 + $1.snapshot.row.bytes }
    return usage
  }

  /// Of the newest; 0 where there is none.
  var basePosition: UInt64 { UInt64((entries.lastIndex(where: \.isBase) ?? -1) + 1) }

  func position(of key: OperationKey) -> UInt64? { positions[key].map { UInt64($0) + 1 } }

  func chain(at position: UInt64) -> ChainDigest? {
    guard position > 0, position <= self.position else { return nil }
    return entries[Int(position) - 1].chain
  }

  func digest(of key: OperationKey) -> OperationDigest? {
    positions[key].map { entries[$0].digest }
  }

  func page(
    after position: UInt64, excluding excluded: ReplicaID?, contentBytes: Int, operations: Int
  ) -> StoredPage {
    var page = StoredPage(
      standing: standing, head: self.position, trimmed: keeping.trimmed,
      chainBefore: chain(at: position), end: position)
    guard position <= self.position else { return page }
    let start = Int(position)
    var total = 0
    for entry in entries[start...].prefix(operations) {
      if entry.isBase {
        page.endsBeforeBase = true
        break
      }
      if entry.author != excluded, !entry.isPassed {
        total += entry.bytes.count
        if total > contentBytes, !page.operations.isEmpty { break }
        page.operations.append(entry.bytes)
      }
      page.end += 1
      page.lastChain = entry.chain
    }
    return page
  }

  mutating func append(
    _ operations: [NewOperation], base: OperationDigest?, heads: [ReplicaID: AuthorHead]
  ) {
    if let base {
      entries.append(
        Entry(
          author: .ofBases, bytes: [], digest: base,
          chain: ChainDigest(after: entries.last?.chain, base)))
    }
    bytes += operations.reduce(0) { $0 + $1.operation.bytes.count }
    for new in operations {
      count(new.operation.bytes, of: new.key.author)
      precondition(positions[new.key] == nil, "an operation has one position")
      positions[new.key] = entries.count
      entries.append(
        Entry(
          author: new.key.author, bytes: new.operation.bytes, digest: new.digest,
          chain: ChainDigest(after: entries.last?.chain, new.digest)))
    }
    self.heads.merge(heads) { _, new in new }
  }

  private mutating func count(_ bytes: [UInt8], of author: ReplicaID, isMore: Bool = true) {
    let one = CountedOperations(operations: 1, bytes: bytes.count)
    let known = counted[author] ?? CountedOperations()
    counted[author] = isMore ? known + one : known - one
  }

  /// What a quota counts of the operations behind so many positions.
  func counted(
    at places: Range<UInt64>, _ authors: [ReplicaID: AuthorRecord]
  ) -> CountedOperations {
    places.reduce(CountedOperations()) { sum, place in
      let entry = entries[Int(place)]
      let isCounted = !entry.isBase && !entry.isPassed && authors[entry.author]?.bannedAfter == nil
      return isCounted ? sum + CountedOperations(operations: 1, bytes: entry.bytes.count) : sum
    }
  }

  /// See ``SpaceTransaction/passBases(after:held:)``.
  mutating func passBases(after position: UInt64, held: [ReplicaID: SnapshotHead])
    throws(WireError) -> [ReplicaID: AuthorHead?]
  {
    for index in entries.indices.dropFirst(Int(position)) where entries[index].isBase {
      entries[index].author = .ofPassed
    }
    var changed: [ReplicaID: AuthorHead?] = [:]
    for (author, head) in heads {
      var last = held[author]?.sequence ?? 0
      while positions[OperationKey(author: author, sequence: last + 1)] != nil { last += 1 }
      guard last < head.sequence else { continue }
      let gone = positions.filter { $0.key.author == author && $0.key.sequence > last }
      for (key, index) in gone {
        positions[key] = nil
        bytes -= entries[index].bytes.count
        count(entries[index].bytes, of: author, isMore: false)
        (entries[index].author, entries[index].bytes) = (.ofPassed, [])
      }
      let kept = positions[OperationKey(author: author, sequence: last)]
      changed[author] = .some(
        try AuthorHead(ofOperation: kept.map { entries[$0].bytes } ?? [], or: held[author]))
    }
    for (author, head) in changed { heads[author] = head }
    return changed
  }

  /// Also takes the bytes from what was trimmed since.
  mutating func keep(_ keeping: MemoryKeeping) {
    let (before, after) = (self.keeping.released, keeping.released)
    for position in min(before, after)..<max(before, after) {
      let entry = entries[Int(position)]
      let length = entry.bytes.count * (before < after ? 1 : -1)
      bytes -= length
      releasedBytes += length
      if !entry.isBase, !entry.isPassed {
        count(entry.bytes, of: entry.author, isMore: before > after)
      }
    }
    for position in self.keeping.emptied..<keeping.emptied {
      releasedBytes -= entries[Int(position)].bytes.count
      entries[Int(position)].bytes = []
    }
    self.keeping = keeping
  }
}
#endif
