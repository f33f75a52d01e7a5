extension OrderKey {
  /// A key between two others; `nil` for an end of the list.
  ///
  /// ```swift
  /// var generator = SystemRandomNumberGenerator()
  /// let first = OrderKey.between(nil, nil, using: &generator)
  /// let second = OrderKey.between(first, nil, using: &generator)
  /// ```
  ///
  /// Made anywhere at any time, two keys are different, but for one chance in 57 billion for each
  /// pair that was placed at the same spot.
  ///
  /// - Returns: `nil` where the two are not in order, or nothing within ``Limit/bytes`` fits: then
  ///   neighbours need new keys too, as `Replica.move` gives them.
  package static func between(
    _ lower: OrderKey?, _ upper: OrderKey?, using generator: inout some RandomNumberGenerator
  ) -> OrderKey? {
    spread(1, between: lower, upper, limit: Limit.bytes, using: &generator)?[0]
  }

  /// Keys in ascending order between two others, with room between them.
  ///
  /// - Parameters:
  ///   - count: 1 or more.
  ///   - limit: the most bytes of each.
  /// - Returns: `nil` as for ``between(_:_:using:)``.
  package static func spread(
    _ count: Int, between lower: OrderKey?, _ upper: OrderKey?, limit: Int,
    using generator: inout some RandomNumberGenerator
  ) -> [OrderKey]? {
    precondition(count > 0, "no keys are asked for")
    if let lower, let upper, lower >= upper { return nil }
    guard let room = Room.make(count, lower?.parts ?? [], upper?.parts) else { return nil }
    var keys: [OrderKey] = []
    keys.reserveCapacity(count)
    // From the last on: the longest are at the ends.
    var index = count
    while index > 0 {
      index -= 1
      let number = room.first + index * room.stride
      guard let key = OrderKey(room.prefix, number, tail: tail(using: &generator), limit: limit)
      else { return nil }
      keys.append(key)
    }
    keys.reverse()
    return keys
  }

  private static func tail(using generator: inout some RandomNumberGenerator) -> UInt64 {
    // 62⁶ has 36 bits: of 64, the remainder is as good as even.
    var bits = Planted.isActive(.orderTailMissing) ? 0 : generator.next() as UInt64
    var tail: UInt64 = 0
    for _ in 0..<tailCount {
      let (rest, digit) = bits.quotientAndRemainder(dividingBy: UInt64(OrderDigits.alphabet.count))
      tail = tail << 8 | UInt64(OrderDigits.alphabet[Int(digit)])
      bits = rest
    }
    return tail
  }
}

/// Numbers behind a prefix that nothing between two keys has yet.
private struct Room {
  typealias Part = OrderKey.Part

  /// Left free between two numbers, so that what is placed between them later stays at their level.
  private static let step = 8

  var prefix: ArraySlice<Part>
  var first: Int
  var stride: Int

  static func make(_ count: Int, _ lower: [Part], _ upper: [Part]?) -> Room? {
    var common = 0
    while common < lower.count, let upper, common < upper.count, lower[common] == upper[common] {
      common += 1
    }
    let (prefix, low) = (lower[..<common], lower[common...])
    let high = upper?[common...]
    switch (low.first, high?.first) {
    case (_, nil): return behind(low, count, prefix)
    case (.number(let lowest), .number(let highest)):
      let stride = (highest - lowest) / (count + 1)
      if stride == 0 { return behind(low.dropFirst(), count, prefix + [.number(lowest)]) }
      let taken = count == 1 ? min(stride, step) : stride
      return Room(prefix: prefix, first: lowest + taken, stride: taken)
    // Right behind a row stands what was placed there; between the two is room before that.
    case (nil, .number), (.tail, .number): return before(high!, count, prefix)
    // Two devices placed them at one spot.
    case (.tail(let tail), .tail): return behind(low.dropFirst(), count, prefix + [.tail(tail)])
    case (_, .tail): return nil
    }
  }

  private static func behind(
    _ low: ArraySlice<Part>, _ count: Int, _ prefix: ArraySlice<Part>
  ) -> Room {
    guard case .number(let lowest) = low.first else {
      return Room(prefix: prefix, first: -step * ((count - 1) / 2), stride: step)
    }
    let stride = min(step, (OrderDigits.range.upperBound - lowest) / count)
    if stride == 0 { return behind(low.dropFirst(), count, prefix + [.number(lowest)]) }
    return Room(prefix: prefix, first: lowest + stride, stride: stride)
  }

  private static func before(
    _ high: ArraySlice<Part>, _ count: Int, _ prefix: ArraySlice<Part>
  ) -> Room? {
    guard case .number(let highest) = high.first else { return nil }
    let stride = min(step, (highest - OrderDigits.range.lowerBound) / count)
    if stride == 0 { return before(high.dropFirst(), count, prefix + [.number(highest)]) }
    return Room(prefix: prefix, first: highest - stride * count, stride: stride)
  }
}
