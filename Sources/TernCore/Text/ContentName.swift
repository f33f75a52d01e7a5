/// A replica id made of a text: the first half of its SHA-256.
///
/// An initial text is known by it. Nobody can make two texts with one name, which would be two
/// contents of the same elements.
///
/// - Source: FIPS 180-4, section 6.2.
package enum ContentName {
  package static func of(_ text: [UInt8]) -> ReplicaID {
    var state = initial
    var schedule = [UInt32](repeating: 0, count: 64)
    var message = text
    message.append(0x80)
    while message.count % 64 != 56 { message.append(0) }
    withUnsafeBytes(of: UInt64(text.count * 8).bigEndian) { message.append(contentsOf: $0) }
    message.withUnsafeBytes { message in
      for start in stride(from: 0, to: message.count, by: 64) {
        for word in 0..<16 {
          let bits = message.loadUnaligned(fromByteOffset: start + word * 4, as: UInt32.self)
          schedule[word] = UInt32(bigEndian: bits)
        }
        compress(&schedule, &state)
      }
    }
    return ReplicaID(
      high: UInt64(state[0]) << 32 | UInt64(state[1]),
      low: UInt64(state[2]) << 32 | UInt64(state[3]))
  }

  private static func compress(_ w: inout [UInt32], _ state: inout [UInt32]) {
    for t in 16..<64 {
      let first = turn(w[t - 15], 7) ^ turn(w[t - 15], 18) ^ w[t - 15] >> 3
      let second = turn(w[t - 2], 17) ^ turn(w[t - 2], 19) ^ w[t - 2] >> 10
      w[t] = w[t - 16] &+ first &+ w[t - 7] &+ second
    }
    var (a, b, c, d) = (state[0], state[1], state[2], state[3])
    var (e, f, g, h) = (state[4], state[5], state[6], state[7])
    for t in 0..<64 {
      let choice = (e & f) ^ (~e & g)
      let more = h &+ (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) &+ choice &+ constants[t] &+ w[t]
      let majority = (a & b) ^ (a & c) ^ (b & c)
      let less = (turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) &+ majority
      (h, g, f, e, d, c, b, a) = (g, f, e, d &+ more, c, b, a, more &+ less)
    }
    for (index, word) in [a, b, c, d, e, f, g, h].enumerated() { state[index] &+= word }
  }

  private static func turn(_ word: UInt32, _ count: UInt32) -> UInt32 {
    word >> count | word << (32 - count)
  }

  /// The first 64 primes: the standard's constants are the fractions of their cube roots, and of
  /// the first eight's square roots.
  private static let primes: [Int] = {
    var primes: [Int] = []
    var candidate = 2
    while primes.count < 64 {
      if !primes.contains(where: { candidate % $0 == 0 }) { primes.append(candidate) }
      candidate += 1
    }
    return primes
  }()

  /// The greatest x of which `power` is at most `limit`, in 2⁻³² and without the whole part.
  private static func root(_ limit: (UInt64) -> Bool) -> UInt32 {
    var found: UInt64 = 0
    for bit in (0..<40).reversed() where limit(found | 1 << UInt64(bit)) { found |= 1 << bit }
    return UInt32(truncatingIfNeeded: found)
  }

  private static let initial: [UInt32] = primes.prefix(8).map { prime in
    root { UInt128($0) * UInt128($0) <= UInt128(prime) << 64 }
  }

  private static let constants: [UInt32] = primes.map { prime in
    root { UInt128($0) * UInt128($0) * UInt128($0) <= UInt128(prime) << 96 }
  }
}
