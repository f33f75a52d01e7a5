/// Which keys were met, by their ``KeyHash``: a `Set` would mix those numbers again, for ten times
/// the instructions.
///
/// It may hold a key for known that is new, never one for new that is known: of keys that share a
/// number, and of all once too many of them stand in one place, as only somebody who means
/// harm makes them.
package struct KeySet: Sendable {
  /// More than half of them are 0, which stands for none.
  private var slots: [UInt64] = []
  package private(set) var count = 0
  private var isCrowded = false

  private static let firstSize = 256
  /// Slots looked at for one number. With so many free ones, chance does not come near it.
  private static let reach = 128

  package init() {}

  /// - Returns: whether the key is surely new.
  package mutating func insert(_ hash: UInt64) -> Bool {
    if isCrowded || hash == 0 { return false }
    if count * 2 >= slots.count { grow() }
    switch Self.put(hash, into: &slots) {
    case true?:
      count += 1
      return true
    case false?: return false
    case nil:
      isCrowded = true
      return false
    }
  }

  package mutating func removeAll() {
    if slots.count > Self.firstSize * 64 { slots = [] }
    if count > 0 { for index in slots.indices { slots[index] = 0 } }
    count = 0
    isCrowded = false
  }

  private mutating func grow() {
    var larger = [UInt64](repeating: 0, count: max(Self.firstSize, slots.count * 2))
    for hash in slots where hash != 0 && Self.put(hash, into: &larger) == nil { isCrowded = true }
    slots = larger
  }

  /// Whether it was put there, and not met; `nil` where there is no room for it.
  private static func put(_ hash: UInt64, into slots: inout [UInt64]) -> Bool? {
    let mask = slots.count - 1
    let first = Int(truncatingIfNeeded: hash >> 7)
    for step in 0..<reach {
      let place = (first &+ step) & mask
      if slots[place] == 0 {
        slots[place] = hash
        return true
      }
      if slots[place] == hash { return false }
    }
    return nil
  }
}
