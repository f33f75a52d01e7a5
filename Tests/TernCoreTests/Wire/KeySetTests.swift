import SeededRandom
import TernCore
import Testing

@Suite("Wire: sets of keys")
struct KeySetTests {
  @Test func `a key is new once`() {
    var generator = SeededGenerator(seed: 1)
    var set = KeySet()
    for round in 1...3 {
      var known: Set<UInt64> = [0]
      for index in 0..<30_000 {
        let hash = index % 3 == 2 ? known.randomElement(using: &generator)! : generator.next()
        let isNew = set.insert(hash)
        #expect(isNew == known.insert(hash).inserted, "\(round), \(index)")
      }
      #expect(set.count == known.count - 1)
      set.removeAll()
    }
  }

  @Test func `keys made to meet in one place are held for known, and cost no more`() {
    var set = KeySet()
    let isFirstNew = set.insert(1)
    #expect(isFirstNew)
    // All begin at the first slot, however large the set is.
    var new = 0
    for number in 1...20_000 where set.insert(UInt64(number) << 40) { new += 1 }
    #expect(new < 200)
    for known: UInt64 in [1, 1 << 40, 2] {
      let isNew = set.insert(known)
      #expect(!isNew)
    }
    set.removeAll()
    let isNew = set.insert(2)
    #expect(isNew)
  }

  @Test func `keys that differ in one byte, or in length, have different numbers`() {
    var seen: Set<UInt64> = []
    var key = Array("6f1c2a9e-0b7d-4c55-9d3e-a1b2c3d4e5f6".utf8)
    for length in 0...key.count {
      seen.insert(key[..<length].withUnsafeBytes { KeyHash.of($0) })
    }
    let prefixes = seen.count
    #expect(prefixes == key.count + 1)
    for index in key.indices {
      key[index] ^= 1
      seen.insert(key.withUnsafeBytes { KeyHash.of($0) })
      key[index] ^= 1
    }
    #expect(seen.count == prefixes + key.count)
  }
}
