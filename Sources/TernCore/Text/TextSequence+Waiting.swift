/// Changes that came before what they build on.
extension TextSequence {
  /// In the order of their operations.
  var waitingOperations: [TextElementID] {
    waiting.keys.sorted { ($0.author, $0.sequence) < ($1.author, $1.sequence) }
  }

  package var waitingCount: Int { waiting.values.reduce(0) { $0 + $1.count } }

  /// Whether something waits for nothing.
  var hasReady: Bool { waiting.values.contains { missing($0[0]).isEmpty } }

  /// The operations of which an edit needs elements that are not here.
  func missing(_ edit: TextEdit) -> Set<TextElementID> {
    var missing: Set<TextElementID> = []
    func need(_ id: TextElementID) {
      if rank(id) == nil { missing.insert(id.operation) }
    }
    for removal in edit.removed {
      var last = removal.first
      last.offset += removal.count - 1
      need(last)
    }
    for insertion in edit.inserted {
      if let parent = insertion.parent { need(parent) }
    }
    return missing
  }

  /// - Parameter missing: what the edit waits for; of no use where another of its operation waits.
  mutating func wait(
    _ operation: TextElementID, _ edit: TextEdit, for missing: Set<TextElementID>
  ) {
    prepareWaits()
    waiting[operation, default: []].append(edit)
    if waiting[operation]?.count == 1 { waits!.add(operation, behind: missing) }
  }

  private mutating func prepareWaits() {
    if waits != nil { return }
    waits = TextWaits()
    for operation in waitingOperations {
      waits!.add(operation, behind: missing(waiting[operation]![0]))
    }
  }

  /// Takes in all that is ready.
  mutating func takeWaiting() -> Bool {
    waits = TextWaits()
    var (come, hasChanged) = ([] as [TextElementID], false)
    for operation in waitingOperations where takeReady(operation, &hasChanged) {
      come.append(operation)
    }
    return takeWaiting(for: come) || hasChanged
  }

  /// Takes in what waits for operations that have come: one that comes free can free another.
  mutating func takeWaiting(for operations: [TextElementID]) -> Bool {
    if waiting.isEmpty { return false }
    // Nobody knows any more who waited for them.
    guard waits != nil else { return takeWaiting() }
    var (come, hasChanged) = (operations, false)
    // What inserted nothing is what nobody can build on.
    while let operation = come.popLast() {
      guard rank(operation) != nil else { continue }
      for waiter in waits!.come(operation) where takeReady(waiter, &hasChanged) {
        come.append(waiter)
      }
    }
    return hasChanged
  }

  /// Takes in the changes of an operation in their order, up to one that waits for something.
  ///
  /// - Returns: whether there was one.
  private mutating func takeReady(_ operation: TextElementID, _ hasChanged: inout Bool) -> Bool {
    guard var edits = waiting.removeValue(forKey: operation) else { return false }
    var count = 0
    while count < edits.count {
      let missing = missing(edits[count])
      if !missing.isEmpty {
        waits!.add(operation, behind: missing)
        break
      }
      if take(operation, edits[count]) { hasChanged = true }
      count += 1
    }
    edits.removeFirst(count)
    if !edits.isEmpty { waiting[operation] = edits }
    return count > 0
  }
}

extension TextElementID {
  /// The operation's first element, which stands for the operation.
  fileprivate var operation: TextElementID { TextElementID(author, sequence, 0) }
}
