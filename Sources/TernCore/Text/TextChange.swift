/// What one operation did to a `.text` column. See `Docs/WireFormat.md`.
package enum TextChange: Hashable, Sendable {
  /// The whole of a text that nobody had written before. Replicas that begin with the same text
  /// begin with the same elements, so that it is not there twice.
  case initial([UInt8])
  case edit(TextEdit)

  package var isEmpty: Bool {
    switch self {
    case .initial(let text): text.isEmpty
    case .edit(let edit): edit.removed.isEmpty && edit.inserted.isEmpty
    }
  }

  /// Whether a reader takes it.
  package var isWithinLimits: Bool {
    switch self {
    case .initial(let text): text.count <= Limit.bytes
    case .edit(let edit):
      edit.removed.count <= Limit.removals && edit.inserted.count <= Limit.insertions
        && edit.text.count <= Limit.bytes
    }
  }

  package enum Limit {
    /// The most bytes of text that one operation brings, and so the most elements.
    package static let bytes = 1 << 24
    /// The most runs that one operation inserts.
    package static let insertions = 100_000
    /// The most runs that it removes: as many as single letters were typed, in a text of that kind.
    package static let removals = 1_000_000
    /// The most bytes that a column shows. What many devices wrote beyond is in the state.
    package static let shownBytes = 16 << 20
    /// The most bytes of one text's state, and the most operations and pieces in it, that a
    /// snapshot brings.
    package static let foreignBytes = 64 << 20
    package static let foreignOperations = 4_000_000
    package static let foreignPieces = 4_000_000
  }
}

/// A Unicode scalar of a text, known by the operation that inserted it: its author, sequence, and
/// place among all that the operation inserted. An initial text has an author made of its
/// content, and 0.
package struct TextElementID: Hashable, Sendable {
  package var author: ReplicaID
  package var sequence: UInt64
  package var offset: UInt32

  package init(_ author: ReplicaID, _ sequence: UInt64, _ offset: UInt32) {
    self.author = author
    self.sequence = sequence
    self.offset = offset
  }
}

package struct TextEdit: Hashable, Sendable {
  /// Elements of one operation that follow one another.
  package struct Removal: Hashable, Sendable {
    package var first: TextElementID
    package var count: UInt32
  }

  /// A run of new elements: the first is a child of ``parent``, each other one of the one before.
  package struct Insertion: Hashable, Sendable {
    /// `nil` for the text's beginning, which has children behind it alone.
    package var parent: TextElementID?
    package var isBefore: Bool
    /// Elements, and bytes of ``TextEdit/text``.
    package var count: UInt32
    package var byteCount: UInt32
  }

  package var removed: [Removal] = []
  package var inserted: [Insertion] = []
  /// All that is inserted, in UTF-8.
  package var text: [UInt8] = []

  package init() {}
}

extension TextEdit.Removal: Comparable {
  package static func < (left: Self, right: Self) -> Bool {
    (left.first.author, left.first.sequence, left.first.offset)
      < (right.first.author, right.first.sequence, right.first.offset)
  }
}

/// The number of Unicode scalars in valid UTF-8.
@inline(__always)
func scalarCount(_ bytes: some Sequence<UInt8>) -> Int {
  var count = 0
  for byte in bytes where byte & 0xC0 != 0x80 { count &+= 1 }
  return count
}
