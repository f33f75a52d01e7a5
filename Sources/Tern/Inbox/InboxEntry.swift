import Foundation
import TernCore

/// Something of one row that its table does not show: a value that lost against a concurrent one,
/// or the row itself.
public struct InboxEntry: Hashable, Sendable, Identifiable {
  /// Stays the same until the entry says something else. One of a value that lost is positive, in
  /// the order in which they were found, and given again only after its entry went.
  public let id: Int64
  /// As the schema names it.
  public let table: String
  /// A value for each column of the primary key, in its order.
  public let key: [SQLiteValue]
  /// What happened.
  public let kind: InboxKind
  /// What is hidden, by column: the values that lost, or all that the row would show, local columns
  /// included. Of an `.incomplete` row what has come.
  public let values: [String: SQLiteValue]
  /// The rows in its way: those that have its place in a UNIQUE index, or that it refers to and
  /// that are not shown.
  public let rows: [RowExplanation.Reference]
  /// Who wrote what is hidden, and when; of a row its latest write. `nil` where no operation has
  /// it.
  public let loser: WriteStamp?
  /// Whose write stands, or stood when two met: the delete, or the insert of the row that has the
  /// place. `nil` where it is nobody's.
  public let winner: WriteStamp?
  /// When two writes met here, by this device's clock, to the millisecond. `nil` for what follows
  /// from the state.
  public let found: Date?

  /// Whether it is hidden on this device, and listed with
  /// ``Replica/inbox(of:after:limit:withDismissed:)`` alone where that asks for it.
  public internal(set) var isDismissed = false

  /// Whether everything is kept that its restoring would bring back.
  var isRestorable = true

  /// What can be done about it: as far as everything is kept here that it takes.
  public var actions: Set<Action> {
    isRestorable ? kind.actions : kind.actions.subtracting([.restore])
  }

  public enum Action: String, Hashable, Sendable, CaseIterable, Codable {
    /// ``Replica/restore(_:)`` writes the value again, or shows the row as its foreign key
    /// declares. Not offered where that takes a deleted row of which nothing is kept.
    case restore
    /// ``Replica/show(_:with:in:)`` shows the row with other values.
    case show
    /// ``Replica/discard(_:in:)`` deletes the row, for everybody.
    case discard
    /// ``Replica/dismiss(_:isDismissed:)`` hides the entry on this device.
    case dismiss
  }
}

extension InboxKind {
  /// What can be done about an entry, if everything is kept that it takes.
  var actions: Set<InboxEntry.Action> {
    switch self {
    case .lastWriter, .sameKey, .deleteWins, .banned: [.restore, .dismiss]
    case .orphaned, .veiled: [.restore, .show, .discard, .dismiss]
    case .displaced, .folded, .parentMissing, .refused: [.show, .discard, .dismiss]
    case .incomplete, .removal: [.dismiss]
    }
  }
}

extension InboxEntry {
  /// An id for what follows from the state: made of all that an entry says, and of no clock and no
  /// replica, which change as a database is copied.
  static func id(
    _ kind: InboxKind, _ table: String, _ key: [UInt8], _ content: [UInt8],
    _ rows: [RowExplanation.Reference]
  ) -> Int64 {
    var writer = ByteWriter()
    writer.append(string: kind.rawValue)
    writer.append(string: table.folded)
    writer.append(raw: key)
    writer.append(raw: content)
    for other in rows {
      writer.append(string: other.table)
      for value in other.values { writer.append(value) }
    }
    let hash = writer.bytes.withUnsafeBytes { KeyHash.of($0) }
    return Int64(bitPattern: hash | 1 << 63)
  }
}
