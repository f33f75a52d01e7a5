/// A number for a packed key, to tell in a few instructions that two differ. Equal numbers say
/// nothing: it is no secret how to find keys that share one, so they may cost time
/// and nothing else.
package enum KeyHash {
  private static let factor: UInt64 = 0x9E37_79B9_7F4A_7C15

  package static func of(_ key: UnsafeRawBufferPointer) -> UInt64 {
    var hash = UInt64(key.count)
    var place = 0
    while place + 8 <= key.count {
      hash = mixed(hash, key.loadUnaligned(fromByteOffset: place, as: UInt64.self))
      place += 8
    }
    var rest: UInt64 = 0
    while place < key.count {
      rest = rest << 8 | UInt64(key[place])
      place += 1
    }
    return mixed(hash, rest)
  }

  private static func mixed(_ hash: UInt64, _ word: UInt64) -> UInt64 {
    let product = (hash ^ word) &* factor
    return product ^ product >> 29
  }
}
