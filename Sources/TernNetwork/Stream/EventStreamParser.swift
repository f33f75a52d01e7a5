/// Reads server-sent events from bytes, in whatever pieces they arrive.
///
/// An event that the stream's end cuts off is dropped, as the standard wants. Bytes that are not
/// UTF-8 become U+FFFD. An id lasts for all events that follow it, until another comes.
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
  private var line: [UInt8] = []
  private var isFirstLine = true
  /// The last byte was a CR: a LF that follows, in this piece or the next, ends the same line.
  private var isAfterCarriageReturn = false
  private var failure: EventStreamError?

  private var name = ""
  private var data: [UInt8] = []
  private var pendingID = ""

  /// - Parameter lastEventID: what was sent as `Last-Event-ID`, which events without an id of their
  ///   own go on to carry.
  public init(limit: Limit = Limit(), lastEventID: String = "") {
    self.limit = limit
    self.lastEventID = lastEventID
    pendingID = lastEventID
  }

  /// What the bytes complete; what a failure comes after included.
  ///
  /// - Throws: ``EventStreamError`` when nothing was completed before the failure, and the same for
  ///   every call after it, also one without bytes.
  public mutating func consume(_ bytes: some Sequence<UInt8>) throws(EventStreamError) -> [Item] {
    if let failure { throw failure }
    var items: [Item] = []
    do throws(EventStreamError) {
      try consume(bytes, into: &items)
    } catch {
      if items.isEmpty { throw error }
    }
    return items
  }

  private mutating func consume(
    _ bytes: some Sequence<UInt8>, into items: inout [Item]
  ) throws(EventStreamError) {
    for byte in bytes {
      let follows = isAfterCarriageReturn
      isAfterCarriageReturn = byte == UInt8(ascii: "\r")
      switch byte {
      case UInt8(ascii: "\n") where follows: continue
      case UInt8(ascii: "\n"), UInt8(ascii: "\r"):
        if let item = try endLine() { items.append(item) }
      default:
        guard line.count < limit.lineBytes else { throw fail(.lineTooLong, limit.lineBytes) }
        line.append(byte)
      }
    }
  }

  private mutating func fail(_ code: EventStreamError.Code, _ bytes: Int) -> EventStreamError {
    let error = EventStreamError(code: code, limitBytes: bytes)
    failure = error
    line = []
    data = []
    return error
  }

  private mutating func endLine() throws(EventStreamError) -> Item? {
    defer { line.removeAll(keepingCapacity: true) }
    if isFirstLine {
      isFirstLine = false
      if line.starts(with: [0xEF, 0xBB, 0xBF]) { line.removeFirst(3) }
    }
    if line.isEmpty { return dispatch() }
    guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else {
      try apply(field: line[...], value: [])
      return nil
    }
    if colon == 0 { return .comment }
    var value = line[(colon + 1)...]
    if value.first == UInt8(ascii: " ") { value.removeFirst() }
    try apply(field: line[..<colon], value: value)
    return nil
  }

  private mutating func apply(
    field: ArraySlice<UInt8>, value: ArraySlice<UInt8>
  ) throws(EventStreamError) {
    switch String(decoding: field, as: UTF8.self) {
    case "event": name = String(decoding: value, as: UTF8.self)
    case "data":
      guard data.count + value.count < limit.eventBytes else {
        throw fail(.eventTooLarge, limit.eventBytes)
      }
      data += value
      data.append(UInt8(ascii: "\n"))
    case "id":
      if !value.contains(0) { pendingID = String(decoding: value, as: UTF8.self) }
    case "retry":
      let isNumber = value.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
      if isNumber, let milliseconds = Int32(String(decoding: value, as: UTF8.self)) {
        reconnectionTime = .milliseconds(milliseconds)
      }
    default: break
    }
  }

  private mutating func dispatch() -> Item? {
    defer {
      name = ""
      data = []
    }
    lastEventID = pendingID
    // Every data line left a line feed, so a stream that sent an empty one is told apart here.
    guard !data.isEmpty else { return nil }
    let text = String(decoding: data.dropLast(), as: UTF8.self)
    return .event(ServerEvent(name: name.isEmpty ? "message" : name, data: text, id: lastEventID))
  }
}
