#if Server

/// A table of the rows that a space has, with the columns that the file and the database share.
///
/// Without those by which a store knows its own rows: the space's number, and a row's. What is in
/// all these columns is all that a store knows of a space, beside its name and its standing.
package struct SpaceTable: Hashable, Sendable {
  package struct Column: Hashable, Sendable {
    package enum Kind: Hashable, Sendable { case integer, text, bytes }

    package let name: String
    package let kind: Kind
  }

  package let name: String
  /// The first of them orders the rows.
  package let columns: [Column]

  private init(
    _ name: String, _ columns: [(String, Column.Kind)]
  ) {
    self.name = name
    self.columns = columns.map { Column(name: $0.0, kind: $0.1) }
  }

  var names: String { columns.map(\.name).joined(separator: ", ") }
}

extension SpaceTable {
  /// The space's own row. Whoever writes it keeps its position last: that says how far it is.
  package static let space = SpaceTable(
    "space",
    [
      ("position", .integer), ("trimmed", .integer), ("released", .integer),
      ("emptied", .integer), ("bytes", .integer), ("kept_bytes", .integer),
      ("quota_bytes", .integer), ("quota_operations", .integer), ("quota_authors", .integer),
      ("quota_share", .integer), ("refill_ms", .integer), ("untrimmed_ms", .integer),
      ("suspended_ms", .integer),
    ])
  /// The bytes come last. They are empty where they are gone, and of a base.
  package static let operation = SpaceTable(
    "operation",
    [
      ("position", .integer), ("author", .bytes), ("sequence", .integer), ("digest", .bytes),
      ("chain", .bytes), ("bytes", .bytes),
    ])
  package static let snapshot = SpaceTable(
    "snapshot",
    [
      ("name", .text), ("dropped_name", .text), ("dropped_ms", .integer), ("cursor", .text),
      ("position", .integer), ("is_base", .integer), ("is_complete", .integer),
      ("parts", .integer), ("bytes", .integer), ("touched_ms", .integer), ("refusal", .text),
      ("schema", .text), ("heads", .bytes),
    ])
  /// The bytes come last.
  package static let part = SpaceTable(
    "snapshot_part", [("part", .integer), ("digest", .bytes), ("bytes", .bytes)])
  package static let token = SpaceTable(
    "token",
    [
      ("digest", .bytes), ("created_ms", .integer), ("member", .text), ("label", .text),
      ("expires_ms", .integer),
    ])

  /// Those of which a space has few rows: a hundred bytes for each of its replicas, tokens and
  /// marks.
  package static let small = [
    token,
    SpaceTable(
      "head",
      [
        ("author", .bytes), ("sequence", .integer), ("time", .integer), ("continues", .integer),
        ("operations", .integer), ("bytes", .integer),
      ]),
    SpaceTable(
      "author",
      [
        ("replica", .bytes), ("member", .text), ("brought_by", .text),
        ("brought_first", .integer), ("brought_last", .integer), ("admitted", .integer),
        ("banned_after", .integer),
      ]),
    SpaceTable("lease", [("replica", .bytes), ("position", .integer), ("at_ms", .integer)]),
    SpaceTable("mark", [("position", .integer), ("at_ms", .integer)]),
    SpaceTable("trim_mark", [("position", .integer), ("at_ms", .integer)]),
    SpaceTable(
      "state",
      [
        ("position", .integer), ("at_ms", .integer), ("is_disputed", .integer),
        ("report", .bytes),
      ]),
  ]

  /// Every table in which a space has rows.
  package static let all = [space, operation, snapshot, part] + small
}

/// A value as it is stored: both databases have these types, of the same ranges.
package enum StoredValue: Hashable, Sendable {
  case null
  case integer(Int64)
  case text(String)
  case bytes([UInt8])

  init(_ number: Int64?) { self = number.map { .integer($0) } ?? .null }
  init(_ text: String?) { self = text.map { .text($0) } ?? .null }
  init(_ bytes: [UInt8]?) { self = bytes.map { .bytes($0) } ?? .null }

  package var integer: Int64? { if case .integer(let number) = self { number } else { nil } }
  package var text: String? { if case .text(let text) = self { text } else { nil } }
  package var bytes: [UInt8]? { if case .bytes(let bytes) = self { bytes } else { nil } }
}
#endif
