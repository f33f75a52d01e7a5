import TernCore

/// One page of the changes of a row that are in the log.
public struct RowHistory: Hashable, Sendable {
  /// By time, then by author, then by sequence: the order in which they stand against each other.
  public var changes: [Change]
  /// Where the next page begins; `nil` when this was the last.
  public var next: Position?

  /// Between two pages. It stays good while operations arrive.
  public struct Position: Hashable, Sendable {
    /// What was looked through.
    let passed: VersionVector
  }

  /// What one operation did to the row.
  public struct Change: Hashable, Sendable {
    public enum Kind: String, Hashable, Sendable {
      /// The row with all columns: it came, or every column was written at once.
      case insert
      /// Some columns.
      case update
      case delete
    }

    public var stamp: WriteStamp
    /// The member whose device the author is, as a server says; `nil` where none has said so, and
    /// the author's name is what whoever brought the operation claims.
    public var member: String?
    /// Whether it came to the server before the author's id belonged to anybody.
    public var isBrought: Bool
    /// Who brought it then, where the server knows one.
    public var broughtBy: String?
    /// Of the operation, contiguous for its author.
    public var sequence: UInt64
    public var kind: Kind
    /// How often the row's key was inserted and deleted: odd is alive, and a delete has the even
    /// number that follows.
    public var generation: UInt32
    /// What travelled, in the author's order; empty for a delete.
    public var columns: [Column]
    /// Whether the state has it. It does not while the operation is put aside, waits for the rest
    /// of its group, or comes from a schema with another key or rule for deletes.
    package var isMerged: Bool
  }

  public struct Column: Hashable, Sendable {
    /// As this schema names it; where it has no such column, as the author did.
    public var name: String
    /// The author's; `nil` for one that only a newer Tern knows.
    public var rule: MergeRule?
    public var content: WriteContent
    /// Whether it is in the log alone, because this schema does not have the column by that rule.
    package var isDeferred: Bool
  }
}

extension RowHistory.Change: CustomStringConvertible {
  public var description: String {
    let written = columns.filter { !$0.content.isNothing }.map { "\($0.name): \($0.content)" }
      .joined(separator: ", ")
    let owner = member.map { " of \($0.shown())" } ?? ""
    let bringer = isBrought ? ", brought by \(broughtBy?.shown() ?? "others")" : ""
    return
      "\(kind.rawValue) by \(stamp)\(owner)\(bringer), operation \(sequence), generation \(generation)"
      + (isMerged ? "" : ", not merged yet") + (written.isEmpty ? "" : ": \(written)")
  }
}
