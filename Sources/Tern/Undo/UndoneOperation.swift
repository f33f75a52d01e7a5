import TernCore

/// What `Replica.undo` took back, and what it left as it is.
public struct UndoneOperation: Hashable, Sendable {
  /// The undone operation's number and time.
  public let sequence: UInt64
  public let time: HybridTime
  /// The rows that it had changed, in its order.
  public let rows: [Row]

  public struct Row: Hashable, Sendable {
    public enum Action: String, Hashable, Sendable, CaseIterable {
      /// Columns got the values that they had before.
      case restored
      /// It had been inserted.
      case removed
      /// It had been deleted.
      case broughtBack
      /// Nothing could be taken back.
      case left
    }

    public let table: String
    public let key: [SQLiteValue]
    public let action: Action
    /// Columns that were written now.
    public let columns: Set<String>
    /// Columns that the operation had written and that stay as they are; of a row that came back,
    /// those that are not known to be what they were before.
    public let left: [String: Reason]
  }

  /// Why a column was left alone.
  public enum Reason: String, Hashable, Sendable {
    /// Somebody wrote it, or the row, since, or a row that refers to it; or the row is gone that it
    /// would refer to.
    case changedSince
    /// A greater or lesser value stays by its rule, whatever is written now.
    case extreme
    /// What it was before is in the log no more, or never was.
    case forgotten
    /// The row is in the state and not in its table.
    case quarantined
    /// Its table refuses what the row was: another has its value in a UNIQUE index by now, or
    /// another constraint of the table does not hold.
    case refused
  }
}

extension UndoneOperation.Reason: CustomStringConvertible {
  public var description: String {
    switch self {
    case .changedSince: "written since"
    case .extreme: "a greater or lesser value stays"
    case .forgotten: "what it was before is not known"
    case .quarantined: "the row is not in its table"
    case .refused: "the table refuses what it was before"
    }
  }
}
