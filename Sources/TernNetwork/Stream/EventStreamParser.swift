/// Reads server-sent events from bytes, in whatever pieces they arrive.
///
/// ```swift
/// parser.append(piece)
/// while let item = try parser.next() { … }
/// ```
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
  public var lastEventID: String { draft.lastID.text }
  /// How long the server wants a client to wait before it connects again.
  public var reconnectionTime: Duration? { draft.reconnectionTime }

  private let limit: Limit
  private var draft: EventDraft
  private var piece: [UInt8] = []
  /// Where in the piece the next line begins.
  private var position = 0
  /// The beginning of a line whose end has not come yet.
  private var partial: [UInt8] = []
  private var isFirstLine = true
  /// The last byte was a CR: a LF that follows, in this piece or the next, ends the same line.
  private var isAfterCarriageReturn = false
  private var failure: EventStreamError?

  /// - Parameter lastEventID: what was sent as `Last-Event-ID`, which events without an id of their
  ///   own go on to carry.
  public init(limit: Limit = Limit(), lastEventID: String = "") {
    self.limit = limit
    draft = EventDraft(after: EventID(lastEventID), limitBytes: limit.eventBytes)
  }

  /// Takes the stream's next piece, and copies it only where something of the last one is left.
  public mutating func append(_ bytes: [UInt8]) {
    guard failure == nil else { return }
    if position < piece.count {
      if position > piece.count / 2 { dropRead() }
      piece += bytes
    } else {
      endPiece()
      piece = bytes
    }
  }

  /// What the next line completes that completes anything; `nil` where another piece is needed.
  ///
  /// - Throws: ``EventStreamError``, and then the same for every call.
  public mutating func next() throws(EventStreamError) -> Item? {
    if position < piece.count {
      // Taken out meanwhile, and back.
      var bytes: [UInt8] = []
      swap(&bytes, &piece)
      let item = bytes.withUnsafeBufferPointer { read($0) }
      swap(&bytes, &piece)
      if let item { return item }
      endPiece()
    }
    if let failure { throw failure }
    return nil
  }

  /// All that the bytes complete; what a failure comes after included.
  ///
  /// - Throws: ``EventStreamError`` when nothing was completed before the failure, and the same for
  ///   every call after it, also one without bytes.
  public mutating func consume(_ bytes: some Sequence<UInt8>) throws(EventStreamError) -> [Item] {
    append(Array(bytes))
    var items: [Item] = []
    do throws(EventStreamError) {
      while let item = try next() { items.append(item) }
    } catch {
      if items.isEmpty { throw error }
    }
    return items
  }
}

extension EventStreamParser {
  private typealias Bytes = UnsafeBufferPointer<UInt8>

  /// Reads on until a line completes something. What is seldom is left to functions of its own, so
  /// that this one stays small.
  @inline(__always)
  private mutating func read(_ bytes: Bytes) -> Item? {
    if position == 0 {
      if let item = begin(bytes) { return item }
      if failure != nil { return nil }
    }
    var start = position
    defer { position = start }
    while start < bytes.count {
      // Most lines are told by how they begin, as servers write it.
      let beginning = bytes.word(at: start)
      if LineBeginning.isID(beginning), let value = value(after: 4, in: bytes, &start) {
        draft.hold(id: value, in: bytes)
      } else if LineBeginning.isData(beginning), let value = value(after: 6, in: bytes, &start) {
        guard draft.append(value, in: bytes) else {
          fail(.eventTooLarge, limit.eventBytes)
          return nil
        }
      } else if LineBeginning.isEmpty(beginning) {
        start &+= 1
        if let event = draft.end(in: bytes) { return .event(event) }
      } else if LineBeginning.isEvent(beginning), let value = value(after: 7, in: bytes, &start) {
        draft.hold(name: value)
      } else {
        if let item = readLine(bytes, &start) { return item }
        if failure != nil { return nil }
      }
    }
    return nil
  }

  /// What a line holds; `nil` where its end has not come, or too late.
  @inline(__always)
  private func value(after count: Int, in bytes: Bytes, _ start: inout Int) -> Range<Int>? {
    guard let (end, next) = bytes.lineEnd(from: start &+ count), end &- start <= limit.lineBytes
    else { return nil }
    let value = Range(uncheckedBounds: (start &+ count, end))
    start = next
    return value
  }

  /// A line of any kind, or as much of it as has come.
  @inline(never)
  private mutating func readLine(_ bytes: Bytes, _ start: inout Int) -> Item? {
    let (end, next) = bytes.lineEnd(from: start) ?? (bytes.count, nil)
    let line = start..<end
    guard line.count <= limit.lineBytes else {
      fail(.lineTooLong, limit.lineBytes)
      return nil
    }
    start = next ?? end
    if next != nil { return interpret(line, in: bytes) }
    partial.append(contentsOf: bytes[part: line])
    return nil
  }

  /// The first line of a piece can have begun in another, and that of the stream with a
  /// byte order mark.
  @inline(never)
  private mutating func begin(_ bytes: Bytes) -> Item? {
    if isAfterCarriageReturn {
      isAfterCarriageReturn = false
      if bytes[0] == UInt8(ascii: "\n") { position = 1 }
    }
    guard isFirstLine || !partial.isEmpty, position < bytes.count else { return nil }
    let (end, next) = bytes.lineEnd(from: position) ?? (bytes.count, nil)
    guard partial.count + end - position <= limit.lineBytes else {
      fail(.lineTooLong, limit.lineBytes)
      return nil
    }
    partial.append(contentsOf: bytes[part: position..<end])
    position = next ?? end
    guard next != nil else { return nil }
    // Taken out meanwhile, and back for its memory.
    var line: [UInt8] = []
    swap(&line, &partial)
    let item = line.withUnsafeBufferPointer { line in
      let hasMark = isFirstLine && line.starts(with: [0xEF, 0xBB, 0xBF])
      isFirstLine = false
      let item = interpret((hasMark ? 3 : 0)..<line.count, in: line)
      draft.settle(in: line)
      return item
    }
    line.removeAll(keepingCapacity: true)
    swap(&line, &partial)
    return item
  }

  @inline(never)
  private mutating func interpret(_ line: Range<Int>, in bytes: Bytes) -> Item? {
    if line.isEmpty { return draft.end(in: bytes).map { .event($0) } }
    switch draft.read(line, in: bytes) {
    case .nothing: return nil
    case .comment: return .comment
    case .tooLarge:
      fail(.eventTooLarge, limit.eventBytes)
      return nil
    }
  }

  /// Of a piece of which something is left.
  private mutating func dropRead() {
    piece.withUnsafeBufferPointer { draft.settle(in: $0) }
    piece.removeFirst(position)
    position = 0
  }

  @inline(never)
  private mutating func endPiece() {
    if let last = piece.last { isAfterCarriageReturn = last == UInt8(ascii: "\r") }
    piece.withUnsafeBufferPointer { draft.settle(in: $0) }
    piece = []
    position = 0
  }

  @inline(never)
  private mutating func fail(_ code: EventStreamError.Code, _ bytes: Int) {
    failure = EventStreamError(code: code, limitBytes: bytes)
    partial = []
    draft.discard()
  }
}

/// How a line begins: its first eight bytes, the first of them lowest.
private enum LineBeginning {
  @inline(__always)
  static func isData(_ word: UInt64) -> Bool { word & 0xFFFF_FFFF_FFFF == 0x203A_6174_6164 }

  @inline(__always)
  static func isEvent(_ word: UInt64) -> Bool { word & 0xFF_FFFF_FFFF_FFFF == 0x20_3A74_6E65_7665 }

  @inline(__always)
  static func isID(_ word: UInt64) -> Bool { word & 0xFFFF_FFFF == 0x203A_6469 }

  @inline(__always)
  static func isEmpty(_ word: UInt64) -> Bool { word & 0xFF == 0x0A }
}
