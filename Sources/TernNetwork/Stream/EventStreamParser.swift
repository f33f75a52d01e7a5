/// Reads server-sent events from bytes, in whatever pieces they arrive.
///
/// An event that the stream's end cuts off is dropped, as the standard wants. Bytes that are not
/// UTF-8 become U+FFFD. An id lasts for all events that follow it, until another comes.
///
/// Memory is taken for an event and what it holds, and for none of its lines.
///
/// - Source: WHATWG HTML, section 9.2.6, "Interpreting an event stream".
public struct EventStreamParser: Sendable {
  public struct Limit: Hashable, Sendable {
    /// The longest line, without its end: an event's data can be one line.
    public var lineBytes = 1 << 20
    /// The most data of one event.
    public var eventBytes = 1 << 20

    public init() {}
  }

  public enum Item: Hashable, Sendable {
    case event(ServerEvent)
    /// A line that says nothing but that the other side lives.
    case comment
  }

  /// To be sent as `Last-Event-ID` when connecting again; empty for none. It changes only when an
  /// event ends, so that a cut event is asked for again.
  public private(set) var lastEventID = ""
  /// How long the server wants a client to wait before it connects again.
  public private(set) var reconnectionTime: Duration?

  private let limit: Limit
  /// The beginning of a line whose end has not come yet.
  private var partial: [UInt8] = []
  private var isFirstLine = true
  /// The last byte was a CR: a LF that follows, in this piece or the next, ends the same line.
  private var isAfterCarriageReturn = false
  private var failure: EventStreamError?

  private var name = EventField()
  private var data = EventField()
  /// An id that counts when its event ends.
  private var pendingID = EventField()
  /// With a line feed for each of its lines.
  private var dataByteCount = 0

  /// - Parameter lastEventID: what was sent as `Last-Event-ID`, which events without an id of their
  ///   own go on to carry.
  public init(limit: Limit = Limit(), lastEventID: String = "") {
    self.limit = limit
    self.lastEventID = lastEventID
  }

  /// What the bytes complete; what a failure comes after included.
  ///
  /// - Throws: ``EventStreamError`` when nothing was completed before the failure, and the same for
  ///   every call after it, also one without bytes.
  public mutating func consume(_ bytes: some Sequence<UInt8>) throws(EventStreamError) -> [Item] {
    if let failure { throw failure }
    var items: [Item] = []
    let isRead: Void? = bytes.withContiguousStorageIfAvailable { read($0, into: &items) }
    if isRead == nil { Array(bytes).withUnsafeBufferPointer { read($0, into: &items) } }
    if let failure, items.isEmpty { throw failure }
    return items
  }

  private mutating func read(_ bytes: Line, into items: inout [Item]) {
    readLines(bytes, into: &items)
    name.settle(in: bytes)
    data.settle(in: bytes)
    pendingID.settle(in: bytes)
  }

  private mutating func readLines(_ bytes: Line, into items: inout [Item]) {
    var start = 0
    if isAfterCarriageReturn, let first = bytes.first {
      isAfterCarriageReturn = false
      if first == UInt8(ascii: "\n") { start = 1 }
    }
    while start < bytes.count {
      let end = bytes.lineEnd(from: start)
      guard partial.count + end - start <= limit.lineBytes else {
        return fail(.lineTooLong, limit.lineBytes)
      }
      let piece = Line(rebasing: bytes[start..<end])
      guard end < bytes.count else { return partial.append(contentsOf: piece) }
      endLine(with: piece, of: bytes, into: &items)
      guard failure == nil else { return }
      start = end + 1
      guard bytes[end] == UInt8(ascii: "\r") else { continue }
      isAfterCarriageReturn = start == bytes.count
      if start < bytes.count, bytes[start] == UInt8(ascii: "\n") { start += 1 }
    }
  }

  private mutating func endLine(
    with piece: Line, of bytes: Line, into items: inout [Item]
  ) {
    if partial.isEmpty { return interpret(piece, of: bytes, into: &items) }
    partial.append(contentsOf: piece)
    // Taken out meanwhile, and back for its memory.
    var line: [UInt8] = []
    swap(&line, &partial)
    line.withUnsafeBufferPointer { interpret($0, of: bytes, into: &items) }
    line.removeAll(keepingCapacity: true)
    swap(&line, &partial)
  }

  private mutating func fail(_ code: EventStreamError.Code, _ bytes: Int) {
    failure = EventStreamError(code: code, limitBytes: bytes)
    partial = []
    data = EventField()
  }
}

extension EventStreamParser {
  fileprivate typealias Line = UnsafeBufferPointer<UInt8>

  /// - Parameter bytes: the piece that is read, in which the line lies unless it began before.
  fileprivate mutating func interpret(_ line: Line, of bytes: Line, into items: inout [Item]) {
    var line = line
    if isFirstLine {
      isFirstLine = false
      if line.starts(with: [0xEF, 0xBB, 0xBF]) { line = Line(rebasing: line.dropFirst(3)) }
    }
    guard let first = line.first else { return dispatch(of: bytes, into: &items) }
    switch first {
    case UInt8(ascii: ":"): items.append(.comment)
    case UInt8(ascii: "d"):
      guard let value = line.value(of: "data") else { return }
      append(value, of: bytes)
    case UInt8(ascii: "e"):
      guard let value = line.value(of: "event") else { return }
      name.hold(value, in: bytes)
    case UInt8(ascii: "i"):
      guard let value = line.value(of: "id"), !value.contains(0) else { return }
      pendingID.hold(value, in: bytes)
    case UInt8(ascii: "r"):
      guard let value = line.value(of: "retry"), let milliseconds = value.number else { return }
      reconnectionTime = .milliseconds(milliseconds)
    default: break
    }
  }

  private mutating func append(_ value: Line, of bytes: Line) {
    guard dataByteCount + value.count < limit.eventBytes else {
      return fail(.eventTooLarge, limit.eventBytes)
    }
    dataByteCount += value.count + 1
    if data.isHeld { data.append(line: value, in: bytes) } else { data.hold(value, in: bytes) }
  }

  private mutating func dispatch(of bytes: Line, into items: inout [Item]) {
    if pendingID.isHeld {
      lastEventID = pendingID.text(in: bytes)
      pendingID.release()
    }
    // A stream that sent one empty line of data is told apart from one that sent none.
    if data.isHeld {
      let type = name.isEmpty ? "message" : name.text(in: bytes)
      items.append(
        .event(ServerEvent(name: type, data: data.text(in: bytes), id: lastEventID)))
      data.release()
      dataByteCount = 0
    }
    name.release()
  }
}
