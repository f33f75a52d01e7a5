/// The state of a `.counter` column: what each author added to it.
///
/// One number would do to merge operations, each of which comes once. But two states that each hold
/// operations of which the other knows nothing can be joined only if they say whose a sum is.
///
/// - Source: the PN-counter of Shapiro and others, A comprehensive study of convergent and
///   commutative replicated data types, INRIA RR-7506.
package struct CounterSum: Hashable, Sendable {
  package struct Share: Hashable, Sendable {
    package var author: UInt32
    package var sum: Int128
  }

  /// By author, none of 0; and behind them the base, as nobody's. One field, so that it makes no
  /// cell larger.
  private var parts: [Share] = []
  private static let nobody = UInt32.max

  package init(base: Int128? = nil) {
    if let base { parts = [Share(author: Self.nobody, sum: base)] }
  }

  /// What was added by nobody knows whom; `nil` where there is nothing of the kind. States had
  /// nothing else before version 0.1.
  package var base: Int128? {
    parts.last.flatMap { $0.author == Self.nobody ? $0.sum : nil }
  }

  /// By author; none of 0.
  package var shares: ArraySlice<Share> { base == nil ? parts[...] : parts.dropLast() }

  /// Wrapping, because a sum beyond 128 bits takes more operations than sequences can number.
  package var total: Int128 { parts.reduce(0) { $0 &+ $1.sum } }

  package subscript(author: UInt32) -> Int128 {
    get { parts.first { $0.author == author }?.sum ?? 0 }
    set {
      let place = parts.firstIndex { $0.author >= author } ?? parts.endIndex
      let isThere = place < parts.endIndex && parts[place].author == author
      if isThere, newValue == 0 {
        parts.remove(at: place)
      } else if isThere {
        parts[place].sum = newValue
      } else if newValue != 0 {
        parts.insert(Share(author: author, sum: newValue), at: place)
      }
    }
  }

  /// The same where authors have other numbers.
  func renumbered(_ number: (UInt32) throws(WireError) -> UInt32) throws(WireError) -> Self {
    var counter = self
    for place in shares.indices {
      counter.parts[place].author = try number(parts[place].author)
    }
    counter.parts.sort { $0.author < $1.author }
    return counter
  }

  /// What both hold: of each author what the one says that has seen more of it.
  ///
  /// - Parameter isBehind: whether `other` has seen more of an author.
  func joined(with other: CounterSum, isBehind: (UInt32) -> Bool) -> CounterSum {
    let isAnyBase = base != nil || other.base != nil
    var joined = CounterSum(base: isAnyBase ? (base ?? 0) &+ (other.base ?? 0) : nil)
    joined.parts +=
      shares.filter { !isBehind($0.author) } + other.shares.filter { isBehind($0.author) }
    joined.parts.sort { $0.author < $1.author }
    return joined
  }
}

extension CounterSum {
  func append(to writer: inout ByteWriter) {
    writer.append(varint: UInt64(shares.count) << 1 | (base == nil ? 0 : 1))
    if let base { writer.append(wide: base) }
    for share in shares {
      writer.append(varint: UInt64(share.author))
      writer.append(wide: share.sum)
    }
  }

  init(_ reader: inout ByteReader) throws(WireError) {
    let head = try reader.varint("counter")
    let base = head & 1 == 1 ? try reader.sum() : nil
    for _ in 0..<head >> 1 {
      guard let author = UInt32(exactly: try reader.varint("counter")), author < Self.nobody,
        parts.last.map({ $0.author < author }) ?? true
      else { throw WireError(.malformed, "counter") }
      let sum = try reader.sum()
      guard sum != 0 else { throw WireError(.malformed, "counter") }
      parts.append(Share(author: author, sum: sum))
    }
    if let base { parts.append(Share(author: Self.nobody, sum: base)) }
  }
}

extension ByteReader {
  mutating func sum() throws(WireError) -> Int128 { try value("sum").wide ?? 0 }
}
