import TernCore

/// A text that is being edited: what its column held, and the edits since.
///
/// Edits cost the same in texts of any length, as long as they are near each other. Nothing is
/// written before ``Replica/save(_:in:)``, which writes the column and, beside it, exactly what was
/// inserted and removed, so that others see the edits and not a guess at them.
///
/// Positions count Unicode scalars, which are what merges. A character on the screen can have
/// several, and text views often count UTF-16: ``scalarOffset(utf16:)``.
///
/// ```swift
/// var draft = TextDraft("Call me", table: "note", column: "body", key: ["1"])
/// draft.insert(" Ishmael", at: draft.count)
/// ```
public struct TextDraft: Hashable, Sendable {
  public let table: String
  public let column: String
  /// A value for each column of the primary key.
  public let key: [SQLiteValue]
  /// What the column held, in UTF-8.
  package private(set) var base: [UInt8]
  private var edits: TextEdits

  /// A draft of a text as it stands in its column; mostly from
  /// ``Replica/draft(_:key:column:in:)``.
  public init(_ text: String, table: String, column: String, key: [SQLiteValue]) {
    self.table = table
    self.column = column
    self.key = key
    base = Array(text.utf8)
    edits = TextEdits(count: text.unicodeScalars.count)
  }

  /// The text's length in Unicode scalars.
  public var count: Int { edits.count }

  /// The text with all edits. Cost: its length.
  public var text: String { String(decoding: edited, as: UTF8.self) }

  /// Whether it was edited and not saved.
  public var hasEdits: Bool { !delta.isEmpty }

  /// - Precondition: `offset` is within the text.
  public mutating func insert(_ text: String, at offset: Int) {
    replace(offset..<offset, with: text)
  }

  /// - Precondition: `range` is within the text.
  public mutating func remove(_ range: Range<Int>) {
    replace(range, with: "")
  }

  /// - Precondition: `range` is within the text.
  public mutating func replace(_ range: Range<Int>, with text: String) {
    precondition(
      range.lowerBound >= 0 && range.upperBound <= count,
      "an edit of \(range) in a text of \(count) scalars")
    edits.replace(range, with: text)
  }

  /// Makes the text another one, for a view that tells no more: the difference counts as the edit.
  public mutating func write(_ text: String) {
    let difference = TextDelta(from: edited, to: Array(text.utf8))
    let isWhole = edits.apply(difference)
    assert(isWhole, "a difference fits the text that it was taken from")
  }

  /// Which scalar begins at, or contains, a place counted in UTF-16, as text views do. Cost: the
  /// text's length.
  public func scalarOffset(utf16 offset: Int) -> Int {
    var (units, scalars) = (0, 0)
    for scalar in text.unicodeScalars {
      units += scalar.utf16.count
      if units > offset { break }
      scalars += 1
    }
    return scalars
  }

  // MARK: - Saving

  package var delta: TextDelta { edits.delta }
  private var edited: [UInt8] { delta.applied(to: base) ?? base }

  /// Puts the edits on top of what the column holds now.
  package mutating func rebase(onto current: [UInt8]) {
    if current == base { return }
    let moved = delta.transformed(over: TextDelta(from: base, to: current))
    base = current
    edits = TextEdits(count: TextEdits.count(of: current))
    let isWhole = edits.apply(moved)
    assert(isWhole, "edits moved over a difference fit the text that it leads to")
  }

  /// The column holds the text.
  package mutating func saved() {
    base = edited
    edits = TextEdits(count: edits.count)
  }
}
