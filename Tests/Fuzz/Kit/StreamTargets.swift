import Foundation
import Tern
import TernNetwork

extension FuzzTarget {
  private static func texts(_ texts: String...) -> @Sendable () -> [[UInt8]] {
    { texts.map { Array($0.utf8) } }
  }

  /// An event stream; the first byte says in what pieces the rest arrives: of one size, and of sizes that
  /// are drawn.
  static let events = FuzzTarget(
    name: "events",
    samples: texts(
      "\u{1}\u{FEFF}: hi\r\nevent: position\rid: 7\ndata: {\"a\":\r\ndata:1}\r\n\r\n:\n\ndata\n\n",
      "\u{3}retry: 3000\ndata: é🐦\r\rid: cut\ndata: never ends", "\u{7}data:  two\nid: 1\u{0}\n\n",
      "\u{5}event: position\nid: 0123456789-abcdef\ndata: 1\n\nevent: posItion\nid: 7\ndata: 2\n\n")
  ) { bytes in
    var limit = EventStreamParser.Limit()
    (limit.lineBytes, limit.eventBytes) = (64, 96)
    var whole = EventStreamParser(limit: limit)
    let (expected, refusal) = read(bytes.dropFirst(), by: { bytes.count }, &whole)
    let seed = Int(bytes.first ?? 0)
    var state = UInt32(seed)
    // Most are short, and some are empty.
    let drawn = {
      state = state &* 1_664_525 &+ 1_013_904_223
      return Int(state >> 28) * Int(state >> 24 & 3)
    }
    let sizes: [(String, () -> Int)] = [("1", { 1 }), ("one", { seed % 16 + 1 }), ("drawn", drawn)]
    for (name, size) in sizes {
      var parser = EventStreamParser(limit: limit)
      let (items, error) = read(bytes.dropFirst(), by: size, &parser)
      try require(items == expected && error == refusal, "pieces of size \(name) make other events")
      try require(
        parser.lastEventID == whole.lastEventID
          && parser.reconnectionTime == whole.reconnectionTime, "pieces leave another id")
    }
    let (items, error) = readLate(bytes.dropFirst(), by: seed % 16 + 1, limit)
    try require(items == expected && error == refusal, "pieces that wait make other events")
    for case .event(let event) in expected {
      try require(event.data.utf8.count <= 3 * limit.eventBytes, "an event is over its limit")
    }
    return refusal == nil ? .taken : .refused
  }

  private static func read(
    _ bytes: ArraySlice<UInt8>, by size: () -> Int, _ parser: inout EventStreamParser
  ) -> (items: [EventStreamParser.Item], error: EventStreamError?) {
    var items: [EventStreamParser.Item] = []
    do throws(EventStreamError) {
      var start = bytes.startIndex
      while start < bytes.endIndex {
        let end = min(start + size(), bytes.endIndex)
        items += try parser.consume(bytes[start..<end])
        start = end
      }
      // A failure behind events comes with the next call.
      items += try parser.consume([])
      return (items, nil)
    } catch {
      return (items, error)
    }
  }

  /// One item for each piece, so that pieces come while others wait to be read.
  private static func readLate(
    _ bytes: ArraySlice<UInt8>, by size: Int, _ limit: EventStreamParser.Limit
  ) -> (items: [EventStreamParser.Item], error: EventStreamError?) {
    var parser = EventStreamParser(limit: limit)
    var items: [EventStreamParser.Item] = []
    do throws(EventStreamError) {
      for start in stride(from: bytes.startIndex, to: bytes.endIndex, by: size) {
        parser.append(Array(bytes[start..<min(start + size, bytes.endIndex)]))
        if let item = try parser.next() { items.append(item) }
      }
      while let item = try parser.next() { items.append(item) }
      return (items, nil)
    } catch {
      return (items, error)
    }
  }

  /// A service's refusal: `Retry-After`, `Date` and a document, a line each.
  static let problem = FuzzTarget(
    name: "problem",
    samples: texts(
      "30\n\n{\"title\":\"Busy\",\"code\":\"BUSY\",\"retryable\":true,\"retryAfterMs\":1500}",
      "Sun, 06 Nov 1994 08:50:37 GMT\nSun, 06 Nov 1994 08:49:37 GMT\n{\"detail\":\"a secret-0123\"}",
      "99999999999999999999\n\n{\"retryAfterMs\":-1e300,\"type\":[1,{\"a\":null}]}", "\n\n[]")
  ) { bytes in
    let lines = bytes.split(separator: 10, maxSplits: 2, omittingEmptySubsequences: false)
      .map { Array($0) }
    var headers = HTTPHeaders()
    for (name, line) in zip(["Retry-After", "Date"], lines) where !line.isEmpty {
      headers[name] = String(decoding: line, as: UTF8.self)
    }
    let secret = "secret-0123"
    let problem = HTTPProblem(
      status: 503, headers: headers, document: lines.count == 3 ? lines[2] : [],
      hiding: [secret])
    for text in [problem.type, problem.title, problem.detail, problem.instance, problem.code] {
      guard let text else { continue }
      try require(text.unicodeScalars.count <= 500, "a problem's text is too long")
      try require(!text.utf8.contains { $0 < 32 || $0 == 127 }, "a problem's text has controls")
      try require(text.range(of: secret, options: .literal) == nil, "a secret is shown")
    }
    if let delay = problem.delay {
      try require(delay >= .zero && delay <= RetryAdvice.longestDelay, "a delay is out of range")
    }
    return problem == HTTPProblem(status: 503) ? .refused : .taken
  }

  /// A form whose names hold anything: field, file name and value of each part, divided by NUL.
  static let form = FuzzTarget(
    name: "form",
    samples: texts("title\u{0}\u{0}Dune", "a\"\r\nb\u{0}shelf\r.jpg\u{0}\r\n--b--\r\n")
  ) { bytes in
    let texts = bytes.split(separator: 0, maxSplits: 30, omittingEmptySubsequences: false)
      .map { String(decoding: $0, as: UTF8.self) }
    var form = MultipartForm(boundary: "b")
    for start in stride(from: 0, to: texts.count, by: 3) {
      let fileName = start + 1 < texts.count ? texts[start + 1] : nil
      let value = start + 2 < texts.count ? texts[start + 2] : ""
      form.parts.append(
        .init(name: texts[start], content: .text(value), fileName: fileName, type: "image/jpeg"))
    }
    try require(form.segments.count == 3 * form.parts.count + 1, "a part is not one")
    for (number, part) in form.parts.enumerated() {
      let segments = form.segments[(3 * number)..<(3 * number + 3)]
      guard case .bytes(let head) = segments.first else { throw FuzzFailure("a head is a file") }
      let lines = Array(head).split(separator: 13, omittingEmptySubsequences: false)
      try require(
        lines.count == 5 && lines.dropFirst().allSatisfy { $0.first == 10 }
          && head.count { $0 == 10 } == 4, "a name breaks the line that it stands in")
      let quotes = part.fileName == nil ? 2 : 4
      try require(head.count { $0 == UInt8(ascii: "\"") } == quotes, "a name ends before its end")
      try require(segments.dropFirst().first == part.content, "a value changes")
      try require(segments.last == .text("\r\n"), "a part has no end")
    }
    try require(form.segments.last == .text("--b--\r\n"), "a form has no end")
    return .taken
  }

  /// A date as HTTP writes it.
  static let date = FuzzTarget(
    name: "date",
    samples: texts(
      "Sun, 06 Nov 1994 08:49:37 GMT", "Thu, 29 Feb 2024 23:59:60 GMT",
      "Fri, 31 Dec 9999 23:59:59 GMT", "Sunday, 06-Nov-94 08:49:37 GMT",
      "Thursday, 29-Feb-24 23:59:60 GMT", "Sun Nov  6 08:49:37 1994", "Fri Dec 31 23:59:59 9999")
  ) { bytes in
    let text = String(decoding: bytes, as: UTF8.self)
    guard let date = HTTPDate(text) else { return .refused }
    var calendar = Calendar(identifier: .gregorian)
    calendar.timeZone = TimeZone(secondsFromGMT: 0)!
    let parts = calendar.dateComponents(
      [.year, .month, .day, .hour, .minute, .second],
      from: Date(timeIntervalSince1970: Double(date.secondsSince1970)))
    let months = [
      "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]
    func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
    let (day, month, year) = (parts.day!, months[parts.month! - 1], parts.year!)
    let time = "\(two(parts.hour!)):\(two(parts.minute!)):\(two(parts.second!))"
    let written = [
      "\(two(day)) \(month) \(year) \(time)", "\(two(day))-\(month)-\(two(year % 100)) \(time)",
      "\(month) \(two(day)) \(time) \(year)", "\(month)  \(day) \(time) \(year)",
    ]
    // The 61st second of a minute is the first of the next.
    try require(
      text.contains(":60 ") || written.contains { text.contains($0) },
      "\(text) is read as \(written[0])")
    return .taken
  }

  /// A replica's id as text.
  static let identifier = FuzzTarget(
    name: "identifier", samples: texts("00112233445566778899aABbcCdDeEfF")
  ) { bytes in
    let text = String(decoding: bytes, as: UTF8.self)
    guard let id = ReplicaID(text) else { return .refused }
    try require(id.description == text.lowercased(), "an id is read that is written otherwise")
    try require(ReplicaID(bytes: id.bytes) == id, "an id changes as bytes")
    return .taken
  }
}
