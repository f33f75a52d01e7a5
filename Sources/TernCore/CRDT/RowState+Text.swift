extension RowState {
  /// The state of a text; `nil` when nobody has written it in this life.
  package func text(of column: UInt32) -> TextCell? {
    if case .text(let cell, _) = content(of: column) { cell } else { nil }
  }

  /// Changes a text.
  ///
  /// - Returns: whether what it shows changed.
  /// - Throws: ``WireError`` where the database is damaged.
  package mutating func apply(
    _ change: TextChange, to column: UInt32, stamp new: Stamp, sequence: UInt64, authors: Authors
  ) throws(WireError) -> Bool {
    var text = try text(of: column)?.sequence() ?? TextSequence()
    let hasChanged = text.apply(change, by: authors.ids[Int(new.author)], sequence)
    set(.text(TextCell(text), latest(of: column, new, authors)), of: column)
    return hasChanged
  }

  /// What a local write of a text is.
  package struct TextWrite {
    /// What its column holds, in valid UTF-8.
    package var written: [UInt8]
    /// How the text became that, one after another, where it is known; otherwise the difference is
    /// looked for.
    package var deltas: [TextDelta]
    /// The writer did not have the text before it, and so removed nothing.
    package var isBlind: Bool
    /// The row begins with it: even an empty text is a change.
    package var isNew: Bool

    package init(
      _ written: [UInt8], deltas: [TextDelta] = [], isBlind: Bool = false, isNew: Bool = false
    ) {
      self.written = written
      self.deltas = deltas
      self.isBlind = isBlind
      self.isNew = isNew
    }
  }

  /// Brings a text to what its column says.
  ///
  /// - Returns: the change that travels; `nil` when nothing differs.
  /// - Throws: ``WireError`` where the database is damaged.
  package mutating func write(
    _ write: TextWrite, to column: UInt32, stamp new: Stamp, sequence: UInt64, authors: Authors
  ) throws(WireError) -> TextChange? {
    let before = text(of: column)
    var text = try before?.sequence() ?? TextSequence()
    let change: TextChange
    if before == nil || write.isBlind || write.isNew {
      change = .initial(write.written)
    } else {
      guard let edit = Self.edit(&text, before!.shown, write) else { return nil }
      change = .edit(edit)
    }
    let hasChanged = text.apply(change, by: authors.ids[Int(new.author)], sequence)
    guard hasChanged || write.isNew else { return nil }
    set(.text(TextCell(text), latest(of: column, new, authors)), of: column)
    return change
  }

  private static func edit(
    _ text: inout TextSequence, _ shown: [UInt8], _ write: TextWrite
  ) -> TextEdit? {
    // A row that was noted twice comes twice, with the same deltas: its elements must not be made
    // again under the same ids.
    if shown == write.written { return nil }
    if !write.deltas.isEmpty, let delta = TextEdits.combined(write.deltas, on: shown),
      delta.applied(to: shown) == write.written,
      let edit = text.edit(delta), TextChange.edit(edit).isWithinLimits
    {
      return edit
    }
    let edit = text.edit(TextDelta(from: shown, to: write.written))
    guard let edit, !TextChange.edit(edit).isWithinLimits else { return edit }
    return text.edit(TextDelta(replacing: shown, by: write.written))
  }
}
