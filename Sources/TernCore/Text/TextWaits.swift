/// Which operations wait for which others, by the name of their first element.
///
/// Each is looked at again when the last that it waits for has come, and not before: so taking in
/// many that wait for one another costs no more than their number, in whatever order they come.
struct TextWaits {
  private var behind: [TextElementID: [TextElementID]] = [:]
  /// How many each waits for.
  private var counts: [TextElementID: Int] = [:]

  /// - Parameter others: those that the operation waits for.
  mutating func add(_ operation: TextElementID, behind others: Set<TextElementID>) {
    counts[operation] = others.count
    for other in others { behind[other, default: []].append(operation) }
  }

  /// An operation has come. Returns those that waited for it last of all.
  mutating func come(_ operation: TextElementID) -> [TextElementID] {
    var free: [TextElementID] = []
    for waiter in behind.removeValue(forKey: operation) ?? [] {
      counts[waiter, default: 1] -= 1
      guard counts[waiter] == 0 else { continue }
      counts[waiter] = nil
      free.append(waiter)
    }
    return free
  }
}
