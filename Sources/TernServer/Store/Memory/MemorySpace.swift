#if Server
import TernCore

/// One space in memory. The operation at position n is at index n − 1.
struct MemorySpace {
  struct Entry {
    var author: ReplicaID
    var bytes: [UInt8]
    var digest: OperationDigest
    var chain: ChainDigest
  }

  private(set) var entries: [Entry] = []
  private(set) var heads: [ReplicaID: AuthorHead] = [:]
  private var positions: [OperationKey: Int] = [:]

  var position: UInt64 { UInt64(entries.count) }

  var summary: SpaceSummary {
    SpaceSummary(position: position, heads: VersionVector(heads.mapValues(\.sequence)))
  }

  func digest(of key: OperationKey) -> OperationDigest? {
    positions[key].map { entries[$0].digest }
  }

  func page(
    after position: UInt64, excluding excluded: ReplicaID?, contentBytes: Int, operations: Int
  ) -> StoredPage {
    guard position <= self.position else { return StoredPage(head: self.position, end: position) }
    let start = Int(position)
    var page = StoredPage(
      head: self.position, chainBefore: start > 0 ? entries[start - 1].chain : nil,
      end: position)
    var total = 0
    for entry in entries[start...].prefix(operations) {
      if entry.author != excluded {
        total += entry.bytes.count
        if total > contentBytes, !page.operations.isEmpty { break }
        page.operations.append(entry.bytes)
      }
      page.end += 1
      page.lastChain = entry.chain
    }
    return page
  }

  mutating func append(_ operations: [NewOperation], heads: [ReplicaID: AuthorHead]) {
    for new in operations {
      precondition(positions[new.key] == nil, "an operation has one position")
      positions[new.key] = entries.count
      entries.append(
        Entry(
          author: new.key.author, bytes: new.operation.bytes, digest: new.digest,
          chain: ChainDigest(after: entries.last?.chain, new.digest)))
    }
    self.heads.merge(heads) { _, new in new }
  }
}
#endif
