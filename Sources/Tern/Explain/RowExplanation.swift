import TernCore

/// Why a row is as it is: whether it stands in its table, and for each column who wrote the value,
/// when, by which rule it stands, and what else was written in this generation of the row.
public struct RowExplanation: Hashable, Sendable {
  /// As the schema names it.
  public var table: String
  public var key: [SQLiteValue]
  /// How often the key was inserted and deleted, without a delete that a change may still undo; 0
  /// for a row that no operation tells of. Nothing of an earlier generation counts:
  /// ``Replica/history(_:key:after:limit:)`` shows it.
  package var generation: UInt32
  public var standing: Standing
  /// The table's, by which deletes and changes meet.
  public var deleteRule: DeleteRule
  /// In the table's order; empty for a row that no operation tells of.
  public var columns: [Column]
  /// The deletes that this generation met, the newest first.
  public var deletes: [Delete]
  /// Where deletes were beaten: the writes that none of them had seen, or the later one.
  public var survivedBy: [WriteStamp]
  /// What came of columns that this schema does not have: of a newer schema's, or dropped here.
  public var deferred: [DeferredColumn]
  /// Changes in the log that the state does not have, because their operations are put aside or
  /// not whole, or come from a schema with another key or rule for deletes.
  public var pendingChanges: Int
  /// Whether what was written here last is in no operation, because the row is too large.
  package var isTooLarge: Bool

  public enum Standing: Hashable, Sendable {
    /// It never was, as far as is known here.
    case unknown
    /// The table has it and no operation does: a migration wrote it, or it is too large to travel.
    case unsynced
    case shown
    case deleted(WriteStamp)
    /// It is in its table and points to one of these rows, which were created earlier and hold the
    /// same in a UNIQUE index.
    case folded(into: [Reference])
    /// It is in its table without these rows, to which it refers and which are deleted: its foreign
    /// key says `ON DELETE SET NULL` or `SET DEFAULT`.
    case veiled(without: [Reference])
    /// It is in the state and not in its table, and these rows are in its way: those that have its
    /// place in a UNIQUE index (none where such a row is quarantined itself, because its parent
    /// lost a place), or that it refers to and that are not in their tables. It is tried again in
    /// every merge.
    case quarantined(InboxKind, [Reference])
    /// The state has it and the table does not: a migration or a trigger of the app took it out.
    case missing
  }

  /// A row that another one refers to.
  public struct Reference: Hashable, Sendable {
    public var table: String
    public var columns: [String]
    public var values: [SQLiteValue]

    package init(table: String, columns: [String], values: [SQLiteValue]) {
      self.table = table
      self.columns = columns
      self.values = values
    }
  }

  public struct Column: Hashable, Sendable {
    public var name: String
    public var rule: MergeRule
    /// What the table shows, or would show of a row that is quarantined or may come back; `nil`
    /// where nothing is kept of the row, or the value has not come.
    public var value: SQLiteValue?
    /// Who wrote the value; of a counter or set the latest who changed it. `nil` where nobody
    /// wrote the column in this generation, and it is at its default.
    public var stamp: WriteStamp?
    /// Of a set: what it holds.
    public var elements: [Element]
    /// The newest writes to the column in this generation, the newest first, and the one that
    /// stands.
    public var writes: [Write]
    /// How many writes of this generation the log has, those left out of ``writes`` included.
    public var writeCount: Int

    /// The writes of which nothing stands.
    public var beaten: [Write] { writes.filter(\.outcome.isBeaten) }
  }

  /// An element of a set.
  public struct Element: Hashable, Sendable {
    public var value: SQLiteValue
    /// Of each replica the last addition that nobody took out.
    public var addedBy: [WriteStamp]
  }

  /// One write to a column.
  public struct Write: Hashable, Sendable {
    public var stamp: WriteStamp
    /// Of the operation.
    public var sequence: UInt64
    public var content: WriteContent
    public var outcome: Outcome
    /// Whether it and the write that stands (for a deleted row, the delete) were made without
    /// knowing of each other; `false` for the standing one itself.
    public var isConcurrent: Bool
  }

  /// A delete of the row.
  public struct Delete: Hashable, Sendable {
    public var stamp: WriteStamp
    public var sequence: UInt64
    public var outcome: Outcome
  }

  public struct DeferredColumn: Hashable, Sendable {
    /// As its authors name it.
    public var name: String
    /// The newest, the newest first.
    package var writes: [DeferredWrite]
    public var writeCount: Int
  }

  /// One write to a column that this schema does not have.
  package struct DeferredWrite: Hashable, Sendable {
    package var stamp: WriteStamp
    package var sequence: UInt64
    package var content: WriteContent
  }

  /// What became of a write or a delete.
  public enum Outcome: Hashable, Sendable {
    /// The column shows what it wrote, or the row is deleted by it.
    case stands
    /// One of several that count: added to a counter, some of it still in a set, or a further
    /// delete of a row that is deleted.
    case counts
    case beaten(Reason)

    public var isBeaten: Bool {
      if case .beaten = self { true } else { false }
    }
  }

  /// What beat a write.
  public enum Reason: String, Hashable, Sendable, CaseIterable {
    /// A later write, by time and then by replica.
    case later
    /// A greater value under `.max`, a lesser one under `.min`, or any value against NULL.
    case extreme
    /// The same extreme, written earlier.
    case earlierEqual
    /// Its elements were taken out by somebody who had seen them.
    case removed
    /// What it took out was added by somebody it had not seen.
    case added
    /// A delete of the row.
    case deleted
    /// A change that the delete had not seen, or a later one: see ``RowExplanation/survivedBy``.
    case changed
  }
}
