/// Entries in the order of their elements, each element once.
///
/// A change is taken in by one pass for all of its elements: one after another, each would move
/// what stands behind it. Generic, so that a test counts what is moved.
extension RandomAccessCollection
where
  Self: MutableCollection & RangeReplaceableCollection, Element == ElementSet.Entry, Index == Int
{
  /// Where an element is to be.
  private func place(of element: SQLiteValue, from start: Int) -> Int {
    var (low, high) = (start, endIndex)
    while low < high {
      let middle = (low + high) / 2
      if self[middle].element < element { low = middle + 1 } else { high = middle }
    }
    return low
  }

  func index(of element: SQLiteValue) -> Int? {
    let place = place(of: element, from: startIndex)
    return place < endIndex && self[place].element == element ? place : nil
  }

  /// Takes in entries in any order: of each element, and of each replica, the latest addition.
  package mutating func merge(_ entries: [ElementSet.Entry]) {
    if entries.isEmpty { return }
    var merged = Self()
    merged.reserveCapacity(count + entries.count)
    var passed = startIndex
    for entry in entries.sorted(by: { $0.element < $1.element }) {
      let place = place(of: entry.element, from: passed)
      merged.append(contentsOf: self[passed..<place])
      passed = place
      if merged.last?.element == entry.element {
        merged[merged.endIndex - 1].noteLatest(entry.additions)
      } else if place < endIndex, self[place].element == entry.element {
        var known = self[place]
        known.noteLatest(entry.additions)
        merged.append(known)
        passed += 1
      } else {
        merged.append(entry)
      }
    }
    merged.append(contentsOf: self[passed...])
    self = merged
  }

  /// Takes out what removals cover of their elements' additions, and the entries of which
  /// none is left.
  ///
  /// - Returns: whether an entry went.
  package mutating func remove(_ removals: [ElementSet.Entry]) -> Bool {
    let isCovering = Planted.isActive(.removalCoversUnseen)
    var hasGone = false
    for removal in removals {
      guard let index = index(of: removal.element) else { continue }
      for (replica, sequence) in removal.additions.sequences
      where self[index].additions[replica] <= sequence {
        self[index].additions[replica] = 0
      }
      if isCovering { self[index].additions = VersionVector() }
      if self[index].additions.sequences.isEmpty { hasGone = true }
    }
    if hasGone { removeAll { $0.additions.sequences.isEmpty } }
    return hasGone
  }
}

extension ElementSet.Entry {
  fileprivate mutating func noteLatest(_ later: VersionVector) {
    for (replica, sequence) in later.sequences {
      additions[replica] = max(additions[replica], sequence)
    }
  }
}

extension ElementSet {
  /// As every set that was made here is.
  package var isInOrder: Bool {
    [entries, early].allSatisfy { entries in
      zip(entries, entries.dropFirst()).allSatisfy { $0.element < $1.element }
    }
  }
}
