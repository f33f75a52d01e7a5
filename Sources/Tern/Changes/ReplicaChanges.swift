import TernCore

/// Rows of synced tables that changed, since the last time that this was asked for.
public struct ReplicaChanges: Hashable, Sendable {
  /// Which rows of one table.
  public enum Rows: Hashable, Sendable {
    /// Their keys: of each a value for each column of the primary key.
    case keys(Set<[SQLiteValue]>)
    /// More than 1,000: everything may have changed.
    case all
  }

  package enum Limit {
    /// The most keys of one table that are kept for a consumer that does not look.
    package static let keys = 1000
  }

  /// What this device wrote, in whatever process, and a seal found: by table, as the schema names
  /// them.
  public internal(set) var local: [String: Rows] = [:]
  /// What came from others and changed what their table shows, or may have.
  public internal(set) var merged: [String: Rows] = [:]

  public var isEmpty: Bool { local.isEmpty && merged.isEmpty }

  /// The rows of a table that changed, by whomever; `nil` for none.
  public subscript(table: String) -> Rows? {
    [local, merged].reduce(nil) { rows, changes in
      let found = changes.first { $0.key.folded == table.folded }?.value
      return rows.map { found.map($0.union) ?? $0 } ?? found
    }
  }

  mutating func formUnion(_ other: ReplicaChanges) {
    local.merge(other.local) { $0.union($1) }
    merged.merge(other.merged) { $0.union($1) }
  }
}

extension ReplicaChanges.Rows {
  func union(_ other: Self) -> Self {
    guard case .keys(let left) = self, case .keys(let right) = other else { return .all }
    let keys = left.union(right)
    return keys.count > ReplicaChanges.Limit.keys ? .all : .keys(keys)
  }
}
