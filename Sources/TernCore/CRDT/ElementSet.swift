/// The state of a `.set` column: what was added to it and not removed.
///
/// An addition is known by its operation. A removal covers the additions that its author had seen
/// and no others, so that an element that somebody else added meanwhile stays. What was removed
/// leaves nothing behind but, for each replica, the number of its last addition.
///
/// - Source: Bieniusa and others, An optimized conflict-free replicated set, arXiv:1210.3368; the
///   removals that arrive before what they remove are ours.
package struct ElementSet: Hashable, Sendable {
  /// An element and operations that added it: of each replica the latest.
  package struct Entry: Hashable, Sendable {
    package var element: SQLiteValue
    package var additions: VersionVector

    package init(_ element: SQLiteValue, _ additions: VersionVector) {
      self.element = element
      self.additions = additions
    }
  }

  /// What the set holds, in the order of its elements.
  package internal(set) var entries: [Entry] = []
  /// Removals whose additions are still to come, in the order of their elements.
  package internal(set) var early: [Entry] = []
  /// The last addition of each replica up to which all have come.
  package internal(set) var arrived = VersionVector()

  package init() {}

  package var elements: [SQLiteValue] { entries.map(\.element) }

  package enum Limit {
    /// The most elements that one operation adds or takes out.
    package static let elements = 100_000
    /// The most elements that an app can write.
    package static let written = 10_000
    /// The most bytes of text that the elements of a column have. What many devices added beyond is
    /// in the state and not shown.
    package static let shownBytes = 16 << 20
  }

  /// The elements that the column shows: the first ones, if not all.
  var shown: ArraySlice<Entry> {
    var bytes = 0
    let end = entries.firstIndex { entry in
      if case .text(let text) = entry.element { bytes += text.count } else { bytes += 8 }
      return bytes > Limit.shownBytes
    }
    return entries[..<(end ?? entries.endIndex)]
  }

  /// What makes this set hold exactly `elements`; `nil` when it does.
  ///
  /// - Parameter isComplete: whether what is missing from `elements` was taken out,
  ///   and not unknown.
  package func change(to elements: [SQLiteValue], isComplete: Bool = true) -> SetChange? {
    let wanted = Set(elements)
    let present = Set(self.elements)
    var removed = isComplete ? shown.filter { !wanted.contains($0.element) } : []
    if Planted.isActive(.removalClaimsUnseen) {
      removed = removed.map {
        Entry($0.element, VersionVector($0.additions.sequences.mapValues { $0 + 5 }))
      }
    }
    let change = SetChange(
      added: Array(wanted.subtracting(present).sorted().prefix(Limit.elements)),
      removed: Array(removed.prefix(Limit.elements)))
    return change.isEmpty ? nil : change
  }

  /// Takes in a change of one operation; a repeated one changes nothing.
  ///
  /// - Parameter turn: of the operation.
  /// - Returns: whether the elements changed.
  /// - Complexity: O(*n* + *m* log *n*) for *m* changes to *n* elements.
  package mutating func apply(_ change: SetChange, by author: ReplicaID, _ turn: Turn) -> Bool {
    let sequence = turn.sequence
    var hasChanged = remove(change.removed)
    guard !change.added.isEmpty, sequence > arrived[author] else { return hasChanged }
    if add(change.added, by: author, sequence) { hasChanged = true }
    let settled = min(sequence, turn.settled)
    if settled > arrived[author] {
      arrived[author] = settled
      forgetEarly(upTo: settled, by: author)
    }
    return hasChanged
  }

  private mutating func remove(_ removals: [Entry]) -> Bool {
    early.merge(
      removals.compactMap { removal in
        let late = removal.additions.sequences.filter { $0.value > arrived[$0.key] }
        return late.isEmpty ? nil : Entry(removal.element, VersionVector(late))
      })
    return entries.remove(removals)
  }

  private mutating func add(_ elements: [SQLiteValue], by author: ReplicaID, _ sequence: UInt64)
    -> Bool
  {
    let standing = elements.filter { element in
      early.index(of: element).map { early[$0].additions[author] < sequence } ?? true
    }
    let isAnyNew = standing.contains { entries.index(of: $0) == nil }
    entries.merge(standing.map { Entry($0, VersionVector([author: sequence])) })
    return isAnyNew
  }

  /// None of a replica's earlier additions is to come.
  private mutating func forgetEarly(upTo sequence: UInt64, by author: ReplicaID) {
    for index in early.indices where early[index].additions[author] <= sequence {
      early[index].additions[author] = 0
    }
    early.removeAll { $0.additions.sequences.isEmpty }
  }
}
