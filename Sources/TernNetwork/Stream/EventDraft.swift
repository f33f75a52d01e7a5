/// The event whose end has not come yet, and what lasts beyond it.
struct EventDraft: Sendable {
  typealias Bytes = UnsafeBufferPointer<UInt8>

  enum Outcome {
    case nothing, comment, tooLarge
  }

  /// That of the last event that ended.
  private(set) var lastID: EventID
  private(set) var reconnectionTime: Duration?

  private let limitBytes: Int
  private var name = EventField()
  private var data = EventField()
  /// Counts when its event ends.
  private var id: ShortText?
  private var longID = EventField()
  /// With a line feed for each of its lines.
  private var dataByteCount = 0
  private var lastName = RepeatedText()

  init(after lastID: EventID, limitBytes: Int) {
    self.lastID = lastID
    self.limitBytes = limitBytes
  }

  /// Reads a line that is not empty.
  ///
  /// - Parameter bytes: the piece that is read, or a line that began in another.
  mutating func read(_ line: Range<Int>, in bytes: Bytes) -> Outcome {
    switch bytes[line.lowerBound] {
    case UInt8(ascii: ":"): return .comment
    case UInt8(ascii: "d"):
      guard let value = bytes.value(of: "data", in: line) else { break }
      return append(value, in: bytes) ? .nothing : .tooLarge
    case UInt8(ascii: "e"):
      if let value = bytes.value(of: "event", in: line) { hold(name: value) }
    case UInt8(ascii: "i"):
      if let value = bytes.value(of: "id", in: line) { hold(id: value, in: bytes) }
    case UInt8(ascii: "r"):
      guard let value = bytes.value(of: "retry", in: line),
        let milliseconds = bytes[part: value].number
      else { break }
      reconnectionTime = .milliseconds(milliseconds)
    default: break
    }
    return .nothing
  }

  @inline(__always)
  mutating func hold(name value: Range<Int>) { name.hold(value) }

  @inline(__always)
  mutating func hold(id value: Range<Int>, in bytes: Bytes) {
    if let short = ShortText(value, in: bytes) {
      id = short
      longID.release()
    } else if !bytes[part: value].contains(0) {
      id = nil
      longID.hold(value)
    }
  }

  /// One line of data more, unless that is too much.
  @inline(__always)
  mutating func append(_ value: Range<Int>, in bytes: Bytes) -> Bool {
    let count = value.upperBound &- value.lowerBound
    guard dataByteCount &+ count <= limitBytes else { return false }
    dataByteCount &+= count &+ 1
    if data.isHeld { data.append(line: value, in: bytes) } else { data.hold(value) }
    return true
  }

  /// To be called before the piece goes.
  mutating func settle(in bytes: Bytes) {
    name.settle(in: bytes)
    data.settle(in: bytes)
    longID.settle(in: bytes)
  }

  /// Its beginning was all that there will be of it.
  mutating func discard() {
    (name, data, longID) = (EventField(), EventField(), EventField())
  }

  /// The event that ends here; `nil` where there is none.
  @inline(__always)
  mutating func end(in bytes: Bytes) -> ServerEvent? {
    if let id {
      lastID = .short(id)
      self.id = nil
    } else if let id = longID.take(in: bytes, { String(decoding: $0, as: UTF8.self) }) {
      lastID = .long(id)
    }
    // A stream that sent one empty line of data is told apart from one that sent none.
    guard let data = data.take(in: bytes, { String(decoding: $0, as: UTF8.self) }) else {
      name.release()
      return nil
    }
    dataByteCount = 0
    let type = name.take(in: bytes) { $0.isEmpty ? "message" : lastName.text(of: $0) }
    return ServerEvent(name: type ?? "message", data: data, id: lastID)
  }
}
