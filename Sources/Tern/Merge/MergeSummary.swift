/// What one merge did.
package struct MergeSummary: Hashable, Sendable {
  /// Operations that were new here.
  package var mergedOperations = 0
  package var repeatedOperations = 0
  /// Groups that cannot be read, or are ahead of the clock, and are in the log alone.
  package var groupsPutAside = 0
  /// Operations that were left out, because their author is in ``ReplicaCounts/forks``.
  package var leftOutOperations = 0
  /// Column values that arrived and won or lost against what stood here, by what decided.
  package var conflicts: [ConflictKind: Int] = [:]
  /// Synced tables whose rows changed.
  package var changedTables: Set<String> = []

  package init() {}
}
