extension Renaming {
  private func renamed(_ element: TextElementID) -> TextElementID {
    guard element.author == old, element.sequence > last else { return element }
    return TextElementID(new, element.sequence - last, element.offset)
  }

  /// The same change, whose elements have their new ids.
  func renamed(_ change: TextChange) -> TextChange {
    guard case .edit(var edit) = change else { return change }
    for index in edit.removed.indices {
      edit.removed[index].first = renamed(edit.removed[index].first)
    }
    edit.removed.sort()
    for index in edit.inserted.indices {
      edit.inserted[index].parent = edit.inserted[index].parent.map(renamed)
    }
    return .edit(edit)
  }
}
