/// What a field holds until its event ends: where it lies in the piece of the stream that is being
/// read, so that most are never copied, or a copy.
struct EventField: Sendable {
  typealias Bytes = UnsafeBufferPointer<UInt8>

  private enum Content: Sendable {
    case nothing
    /// In the piece that is being read.
    case place(Range<Int>)
    /// In `copy`.
    case copied
  }

  private var content = Content.nothing
  /// Its memory is kept for the next.
  private var copy: [UInt8] = []

  var isHeld: Bool { if case .nothing = content { false } else { true } }

  /// Takes the place of what was held.
  @inline(__always)
  mutating func hold(_ value: Range<Int>) { content = .place(value) }

  /// One line more of what is held.
  @inline(never)
  mutating func append(line: Range<Int>, in piece: Bytes) {
    settle(in: piece)
    copy.append(UInt8(ascii: "\n"))
    copy.append(contentsOf: piece[part: line])
  }

  /// To be called before the piece goes.
  @inline(never)
  mutating func settle(in piece: Bytes) {
    guard case .place(let place) = content else { return }
    copy.removeAll(keepingCapacity: true)
    copy.append(contentsOf: piece[part: place])
    content = .copied
  }

  /// Gives what is held, after which nothing is; `nil` where nothing was.
  @inline(__always)
  mutating func take<Result>(in piece: Bytes, _ body: (Bytes) -> Result) -> Result? {
    defer { content = .nothing }
    switch content {
    case .nothing: return nil
    case .place(let place): return body(piece[part: place])
    case .copied: return copy.withUnsafeBufferPointer(body)
    }
  }

  mutating func release() { content = .nothing }
}
