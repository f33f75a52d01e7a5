#if Server
import Tern
import TernCore

/// What the page shows of a replica's inbox.
struct InspectInboxDocument: Encodable {
  let entries: [Entry]
  /// Whether there are more.
  let isCut: Bool

  struct Entry: Encodable {
    /// Names the entry to `restore`.
    let id: String
    let table: String
    let key: [InspectValue]
    let kind: String
    let values: [Column]
    /// The rows in its way.
    let rows: [Row]
    let loser: StampDocument?
    let winner: StampDocument?
    let found: Int64?
    /// Whether a row is kept out of its table, and not a value.
    let isRow: Bool
    let canRestore: Bool
  }

  struct Column: Encodable {
    let name: String
    let value: InspectValue
    /// What the row shows in its place; `nil` where there is no such row.
    let shown: InspectValue?
  }

  struct Row: Encodable {
    let table: String
    let columns: [String]
    let values: [InspectValue]
  }

  private static let limit = 500

  /// - Throws: ``InspectionError``.
  init(path: String, replica: String) throws {
    let found = try DatabaseFileInbox(path: path, replica: replica).items(limit: Self.limit + 1)
    isCut = found.count > Self.limit
    entries = found.prefix(Self.limit).map(Entry.init)
  }
}

extension InspectInboxDocument.Entry {
  init(_ item: DatabaseFileInbox.Item) {
    let entry = item.entry
    self.init(
      id: DatabaseFileInbox.Reference(entry).text, table: entry.table,
      key: entry.key.map(InspectValue.init), kind: entry.kind.rawValue,
      values: entry.values.sorted { $0.key < $1.key }.map {
        .init(
          name: $0.key, value: InspectValue($0.value),
          shown: item.shown?[$0.key].map(InspectValue.init))
      },
      rows: entry.rows.map {
        .init(table: $0.table, columns: $0.columns, values: $0.values.map(InspectValue.init))
      },
      loser: entry.loser.map(StampDocument.init), winner: entry.winner.map(StampDocument.init),
      found: entry.found?.milliseconds, isRow: !InboxKind.ofLosses.contains(entry.kind),
      canRestore: DatabaseFileInbox.canRestore(entry))
  }
}

/// A value as people read it, and as `DatabaseFileRow` reads a key.
struct InspectValue: Encodable {
  let kind: String
  let text: String
  /// How many characters are left out.
  var cut: Int?

  private static let limit = 2000

  init(_ value: SQLiteValue) {
    let whole: String
    switch value {
    case .null: (kind, whole) = ("null", "NULL")
    case .integer(let number): (kind, whole) = ("integer", "\(number)")
    case .real(let number): (kind, whole) = ("real", "\(number)")
    case .text(let bytes): (kind, whole) = ("text", String(decoding: bytes, as: UTF8.self))
    case .blob: (kind, whole) = ("blob", "\(value)")
    }
    text = String(whole.prefix(Self.limit))
    cut = whole.count > Self.limit ? whole.count - Self.limit : nil
  }
}

/// What the page shows of one row: why it is as it is, and how it came to be so.
struct InspectRowDocument: Encodable {
  let isUnsealed: Bool
  let explanation: ExplanationDocument
  let changes: [ChangeDocument]
  /// Whether there are more changes.
  let isCut: Bool

  private static let limit = 500

  /// - Throws: ``InspectionError``, ``RowLookupError``.
  init(_ row: DatabaseFileRow) throws {
    isUnsealed = row.isUnsealed
    explanation = ExplanationDocument(row, try row.explanation(limit: 100))
    let history = try row.history(limit: Self.limit)
    (changes, isCut) = (history.changes.map(ChangeDocument.init), history.next != nil)
  }
}
#endif
