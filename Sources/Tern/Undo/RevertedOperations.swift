import TernCore

/// What `Replica.revert` took back of an author's operations, and what it left as it is.
public struct RevertedOperations: Hashable, Sendable {
  /// Whose they are.
  public let author: ReplicaID
  /// How many of them the log has after the point, those of an earlier call included.
  public let operations: Int
  /// The rows that were written, or left with a reason, in the author's order.
  public let rows: [UndoneOperation.Row]
  /// The author's last operation that the log has no more; `nil` where it has all that is
  /// asked for.
  public let forgottenThrough: UInt64?
  /// Operations that are put aside, or wait for the rest of their group: nothing of them stands.
  public let unmerged: Int
  /// Tables that the schema does not have, by the author's names.
  public let unknownTables: [String]

  /// Whether no row was written.
  package var isNothing: Bool { rows.allSatisfy { $0.action == .left } }
}

extension RevertedOperations: CustomStringConvertible {
  public var description: String {
    var parts = [RowCounts.text(of: rows)]
    if let forgottenThrough {
      parts.append("the log lacks its operations up to \(forgottenThrough)")
    }
    if unmerged > 0 { parts.append("\(unmerged) operations are not merged yet") }
    if !unknownTables.isEmpty {
      parts.append("not synced here: \(unknownTables.map { "“\($0)”" }.joined(separator: ", "))")
    }
    return "replica \(author): " + parts.joined(separator: "; ")
  }
}

enum RowCounts {
  /// How many rows of each table something was done to.
  static func text(of rows: [UndoneOperation.Row]) -> String {
    if rows.isEmpty { return "nothing to take back" }
    let tables = Dictionary(grouping: rows, by: \.table).sorted { $0.key < $1.key }
    return tables.map { table, rows in
      let counts = UndoneOperation.Row.Action.allCases.compactMap { action -> String? in
        let count = rows.count { $0.action == action }
        return count == 0 ? nil : "\(count) \(action)"
      }
      return "rows of “\(table)”: \(counts.joined(separator: ", "))"
    }.joined(separator: "; ")
  }
}

extension UndoneOperation.Row.Action: CustomStringConvertible {
  public var description: String {
    switch self {
    case .restored: "restored"
    case .removed: "removed"
    case .broughtBack: "brought back"
    case .left: "left"
    }
  }
}
