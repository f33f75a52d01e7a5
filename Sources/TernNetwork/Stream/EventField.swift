/// What a field holds until its event ends: where it lies in the piece of the stream that is being read, so
/// that most are never copied, or a copy.
struct EventField: Sendable {
  typealias Bytes = UnsafeBufferPointer<UInt8>

  private(set) var isHeld = false
  /// In the piece that is being read; `nil` where `copy` has it.
  private var place: Range<Int>?
  private var copy: [UInt8] = []

  var isEmpty: Bool { place?.isEmpty ?? copy.isEmpty }

  /// Takes the place of what was held.
  mutating func hold(_ value: Bytes, in piece: Bytes) {
    if isHeld { release() }
    isHeld = true
    let start = Self.address(value) - Self.address(piece)
    if start >= 0, start + value.count <= piece.count {
      place = start..<(start + value.count)
    } else {
      copy.append(contentsOf: value)
    }
  }

  /// One line more of what is held.
  mutating func append(line: Bytes, in piece: Bytes) {
    settle(in: piece)
    copy.append(UInt8(ascii: "\n"))
    copy.append(contentsOf: line)
  }

  /// To be called before the piece goes.
  mutating func settle(in piece: Bytes) {
    guard let place else { return }
    copy.append(contentsOf: Bytes(rebasing: piece[place]))
    self.place = nil
  }

  func text(in piece: Bytes) -> String {
    if let place { return String(decoding: Bytes(rebasing: piece[place]), as: UTF8.self) }
    return copy.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
  }

  /// Nothing is held any more; the copy's memory is kept for the next.
  mutating func release() {
    isHeld = false
    place = nil
    if !copy.isEmpty { copy.removeAll(keepingCapacity: true) }
  }

  /// Only to tell whether a value lies in a piece.
  private static func address(_ bytes: Bytes) -> Int { Int(bitPattern: bytes.baseAddress) }
}
