/// The identity of one replica: 16 random bytes, compared as an unsigned big-endian number.
///
/// A replica id belongs to one copy of one database. The order of ids breaks ties between
/// operations that carry the same ``HybridTime``.
public struct ReplicaID: Hashable, Sendable {
  @usableFromInline package let high: UInt64
  @usableFromInline package let low: UInt64

  package static let byteCount = 16

  /// An id drawn from `generator`, so that a simulation can own it.
  public init(using generator: inout some RandomNumberGenerator) {
    self.init(high: generator.next(), low: generator.next())
  }

  package init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }

  /// Reads exactly 16 bytes, or gives `nil`.
  public init?(bytes: some Collection<UInt8>) {
    guard bytes.count == Self.byteCount else { return nil }
    let id = bytes.withContiguousStorageIfAvailable { Self(words: UnsafeRawBufferPointer($0)) }
    self = id ?? Array(bytes).withUnsafeBytes(Self.init(words:))
  }

  private init(words: UnsafeRawBufferPointer) {
    high = UInt64(bigEndian: words.loadUnaligned(as: UInt64.self))
    low = UInt64(bigEndian: words.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
  }

  /// Reads 32 hexadecimal digits, or gives `nil`.
  public init?(_ text: some StringProtocol) {
    // A number may begin with a sign, which an id does not.
    guard text.utf8.count == 32, text.utf8.allSatisfy({ UInt8(ascii: "0") <= $0 }),
      let high = UInt64(text.prefix(16), radix: 16), let low = UInt64(text.suffix(16), radix: 16)
    else { return nil }
    self.init(high: high, low: low)
  }

  /// The 16 bytes, most significant first.
  public var bytes: [UInt8] {
    withUnsafeBytes(of: (high.bigEndian, low.bigEndian)) { Array($0) }
  }
}

extension ReplicaID: Comparable {
  @inlinable
  public static func < (left: ReplicaID, right: ReplicaID) -> Bool {
    left.high != right.high ? left.high < right.high : left.low < right.low
  }
}

extension ReplicaID: CustomStringConvertible {
  /// 32 lower-case hexadecimal digits.
  public var description: String {
    [high, low].map { word in
      let digits = String(word, radix: 16)
      return String(repeating: "0", count: 16 - digits.count) + digits
    }.joined()
  }
}

extension ReplicaID: Codable {
  /// From the 32 hexadecimal digits of its ``description``.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    guard let id = try Self(container.decode(String.self)) else {
      throw DecodingError.dataCorruptedError(
        in: container, debugDescription: "a replica's id has 32 hexadecimal digits")
    }
    self = id
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(description)
  }
}
