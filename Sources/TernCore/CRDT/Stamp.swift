/// Who wrote a value and when. The author is an index into the replica's own list of authors, so
/// that a stored stamp takes a few bytes.
package struct Stamp: Hashable, Sendable {
  package var time: HybridTime
  package var author: UInt32

  package static let zero = Stamp(time: .zero, author: 0)

  package init(time: HybridTime, author: UInt32) {
    self.time = time
    self.author = author
  }
}

/// The replicas that a store knows, by index. Index 0 is the store's own.
package struct Authors: Hashable, Sendable {
  package private(set) var ids: [ReplicaID]
  /// Only of more than are looked through at once: every transaction reads them.
  private var indices: [ReplicaID: UInt32] = [:]
  private static let fewCount = 8

  package init(_ ids: [ReplicaID]) {
    self.ids = ids
    indexMany()
  }

  private mutating func indexMany() {
    if ids.count <= Self.fewCount { return }
    indices = Dictionary(uniqueKeysWithValues: ids.enumerated().map { ($1, UInt32($0)) })
  }

  package func index(of id: ReplicaID) -> UInt32? {
    ids.count > Self.fewCount ? indices[id] : ids.firstIndex(of: id).map { UInt32($0) }
  }

  package mutating func add(_ id: ReplicaID) -> UInt32 {
    if let index = index(of: id) { return index }
    let index = UInt32(ids.count)
    ids.append(id)
    if indices.isEmpty { indexMany() } else { indices[id] = index }
    return index
  }

  /// The order of writes within one life of a row: by time, then by replica id. INV-01 stands on
  /// this order being the same at every replica, so indices, which differ, have no part in it.
  package func isLess(_ left: Stamp, _ right: Stamp) -> Bool {
    if left.time != right.time { return left.time < right.time }
    if left.author == right.author { return false }
    if Planted.isActive(.unstableTieBreak) { return left.author < right.author }
    return ids[Int(left.author)] < ids[Int(right.author)]
  }
}
