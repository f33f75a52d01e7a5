/// Numbers as texts that sort like them: the first character says how many follow, more the further
/// a number is from zero.
enum OrderDigits {
  /// In the order of their bytes.
  static let alphabet = Array("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".utf8)
  private static let base = 62

  /// Numbers of one length, from 0 on; what is below 0 mirrors them.
  private struct Size {
    /// The first of the leading characters, and how many there are.
    let lead: Int
    let leads: Int
    let following: Int
    let start: Int
    let capacity: Int
  }

  private static let sizes: [Size] = {
    var start = 0
    return [(31, 11, 0), (42, 12, 1), (54, 5, 2), (59, 2, 3), (61, 1, 5)].map {
      (lead: Int, leads: Int, following: Int) in
      let capacity = (0..<following).reduce(leads) { capacity, _ in capacity * base }
      defer { start += capacity }
      return Size(
        lead: lead, leads: leads, following: following, start: start, capacity: capacity)
    }
  }()

  /// The numbers that can be written.
  static let range: ClosedRange<Int> = {
    let count = sizes.reduce(0) { $0 + $1.capacity }
    return -count...count - 1
  }()

  static func value(_ character: UInt8) -> Int? {
    switch character {
    case 0x30...0x39: Int(character) - 0x30
    case 0x41...0x5A: Int(character) - 0x41 + 10
    case 0x61...0x7A: Int(character) - 0x61 + 36
    default: nil
    }
  }

  /// Appends a number of ``range``.
  static func append(_ number: Int, to bytes: inout [UInt8]) {
    let mirrored = number < 0 ? -1 - number : number
    var index = 0
    while index < sizes.count - 1, mirrored >= sizes[index + 1].start { index += 1 }
    let size = sizes[index]
    var rest = mirrored - size.start
    let first = bytes.count
    for place in 0...size.following {
      let digit = place == size.following ? size.lead + rest : rest % base
      rest /= base
      bytes.insert(alphabet[number < 0 ? base - 1 - digit : digit], at: first)
    }
  }

  /// Reads a number and moves past it; `nil` where there is none.
  static func readNumber(_ bytes: [UInt8], _ index: inout Int) -> Int? {
    guard let lead = value(bytes[index]) else { return nil }
    let isNegative = lead < sizes[0].lead
    let mirrored = isNegative ? base - 1 - lead : lead
    var place = sizes.count - 1
    while sizes[place].lead > mirrored { place -= 1 }
    let size = sizes[place]
    guard index + size.following < bytes.count else { return nil }
    var number = mirrored - size.lead
    for place in 0..<size.following {
      guard let digit = value(bytes[index + 1 + place]) else { return nil }
      number = number * base + (isNegative ? base - 1 - digit : digit)
    }
    index += 1 + size.following
    return isNegative ? -1 - (size.start + number) : size.start + number
  }
}
