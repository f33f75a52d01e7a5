import TernNetwork
import Testing

@Suite("Stream: server-sent events")
struct EventStreamParserTests {
  private func items(_ text: String) throws -> [EventStreamParser.Item] {
    var parser = EventStreamParser()
    return try parser.consume(text.utf8)
  }

  private func event(_ data: String, _ name: String = "message", id: String = "")
    -> EventStreamParser.Item
  {
    .event(ServerEvent(name: name, data: data, id: id))
  }

  /// Every kind of line end, field, comment and character length in one stream.
  static let sample =
    "\u{FEFF}: hello\r\nevent: position\rid: 7\ndata: {\"a\":\r\ndata:1}\r\n\r\n"
    + ":\n\ndata\n\nretry: 3000\ndata: é🐦\r\rid: cut\ndata: never ends"

  @Test("one stream reads the same however it is cut in pieces")
  func everyCut() throws {
    let expected: [EventStreamParser.Item] = [
      .comment, event("{\"a\":\n1}", "position", id: "7"), .comment, event("", id: "7"),
      event("é🐦", id: "7"),
    ]
    let bytes = Array(Self.sample.utf8)
    for size in 1...bytes.count {
      var parser = EventStreamParser()
      var items: [EventStreamParser.Item] = []
      for start in stride(from: 0, to: bytes.count, by: size) {
        items += try parser.consume(bytes[start..<min(start + size, bytes.count)])
      }
      #expect(items == expected, "pieces of \(size)")
      #expect(parser.lastEventID == "7")
      #expect(parser.reconnectionTime == .seconds(3))
    }
  }

  @Test("an id counts when its event ends, also when that event has no data")
  func ids() throws {
    var parser = EventStreamParser()
    #expect(try parser.consume("id: 1\n".utf8).isEmpty)
    #expect(parser.lastEventID == "")
    #expect(try parser.consume("\n".utf8).isEmpty)
    #expect(parser.lastEventID == "1")
    #expect(try parser.consume("id: 2\u{0}\ndata: a\n\n".utf8) == [event("a", id: "1")])
    #expect(try parser.consume("id\ndata: b\n\n".utf8) == [event("b")])
    #expect(parser.lastEventID == "")
  }

  @Test("one space after the colon belongs to the syntax, a second one to the value")
  func spaces() throws {
    #expect(try items("data:  a\n\ndata:b \n\n") == [event(" a"), event("b ")])
  }

  @Test("an event type lasts for one event, and one without data is dropped with its type")
  func types() throws {
    #expect(
      try items("event: x\n\ndata: a\n\nevent: y\ndata: b\n\n") == [
        event("a"), event("b", "y"),
      ])
  }

  @Test("unknown fields and senseless retries are passed over", arguments: ["", "-1", "1.5", "x"])
  func ignored(retry: String) throws {
    var parser = EventStreamParser()
    #expect(try parser.consume("retry:\(retry)\nwhat: ever\nDATA: a\n\n".utf8).isEmpty)
    #expect(parser.reconnectionTime == nil)
  }

  @Test("a byte order mark is one only at the very beginning")
  func byteOrderMark() throws {
    #expect(try items("data: a\n\n\u{FEFF}data: b\n\n") == [event("a")])
  }

  @Test("bytes that are not UTF-8 are replaced")
  func invalidBytes() throws {
    var parser = EventStreamParser()
    let bytes = Array("data: ".utf8) + [0xFF] + Array("\n\n".utf8)
    #expect(try parser.consume(bytes) == [event("\u{FFFD}")])
  }

  @Test("a line and an event over their limits are refused, and so is all that follows")
  func limits() throws {
    var limit = EventStreamParser.Limit()
    limit.lineBytes = 10
    limit.eventBytes = 8
    var parser = EventStreamParser(limit: limit)
    #expect(try parser.consume("data:12345\n\n".utf8) == [event("12345")])
    let tooLong = #expect(throws: EventStreamError.self) {
      try parser.consume("data:123456".utf8)
    }
    #expect(tooLong?.code == .lineTooLong)
    #expect(throws: EventStreamError.self) { try parser.consume("\n\n".utf8) }
    parser = EventStreamParser(limit: limit)
    // The line feed between them is data, too.
    #expect(try parser.consume("data:12345\ndata:12\n\n".utf8) == [event("12345\n12")])
    let tooLarge = #expect(throws: EventStreamError.self) {
      try parser.consume("data:12345\ndata:123\n".utf8)
    }
    #expect(tooLarge?.code == .eventTooLarge)
  }

  /// Where eventsource-parser's `maxBufferSize` passes over an endless unknown field or comment, and goes on.
  @Test(
    "a line that is over the limit is refused whatever it is, also one that would say nothing",
    arguments: [
      "data: ", "id: ", "event: ", "retry: ", ":", "unknown-field: ", "datax: ", "\u{FEFF}",
    ])
  func endlessLine(beginning: String) throws {
    var limit = EventStreamParser.Limit()
    limit.lineBytes = 64
    let line = Array((beginning + String(repeating: "1", count: 65)).utf8)
    // Whole, with what follows it; and in pieces, of which no last one comes.
    for size in [200, 7, 1] {
      for before in ["", "data: a\n\n"] {
        var parser = EventStreamParser(limit: limit)
        if !before.isEmpty { #expect(try parser.consume(before.utf8) == [event("a")]) }
        let bytes = size == 200 ? line + Array("\ndata: ok\n\n".utf8) : line
        var taken = 0
        let error = #expect(throws: EventStreamError.self) {
          for start in stride(from: 0, to: bytes.count, by: size) {
            let items = try parser.consume(bytes[start..<min(start + size, bytes.count)])
            #expect(items.isEmpty)
            taken += size
          }
        }
        #expect(error?.code == .lineTooLong)
        #expect(taken <= limit.lineBytes)
        #expect(throws: EventStreamError.self) { try parser.consume("\ndata: ok\n\n".utf8) }
      }
    }
  }

  @Test("the limits are for one line and one event: a stream of many goes on for ever")
  func manyWithinLimits() throws {
    var limit = EventStreamParser.Limit()
    (limit.lineBytes, limit.eventBytes) = (16, 16)
    var parser = EventStreamParser(limit: limit)
    for number in 0..<100 {
      let items = try parser.consume(":comment\nno: field\ndata: \(number)\n\n".utf8)
      #expect(items == [.comment, event("\(number)")])
    }
  }

  @Test(
    "streams as the standard reads them, whatever the pieces",
    arguments: [
      ("data: a\n\ndata: b\r\n\r\ndata: c\r\rdata: d\n\r\n", ["a", "b", "c", "d"]),
      ("data\n\ndata:\ndata\n\ndata:cut\n", ["", "\n"]),
      ("data: a\r\n\ndata: b\r\n\rdata: c\n\n\n", ["a", "b", "c"]),
      ("\u{FEFF}data: a\n\n", ["a"]), ("\u{FEFF}\u{FEFF}data: a\n\ndata: b\n\n", ["b"]),
      ("\n\n\r\rdata: a\n\n", ["a"]), ("\u{FEFF}\n\ndata: a\n\n", ["a"]),
      ("data:a:b\ndata: :\n\n", ["a:b\n:"]), (" data: a\ndata : b\n\n", []),
      ("data: \t\u{0}\n\n", ["\t\u{0}"]), ("event: x\nid: 4\nretry: 5\n\n", []),
    ], [1, 2, 3, 5, 1000])
  func standard(stream: (text: String, data: [String]), size: Int) throws {
    let bytes = Array(stream.text.utf8)
    var parser = EventStreamParser()
    var data: [String] = []
    for start in stride(from: 0, to: bytes.count, by: size) {
      for case .event(let event) in try parser.consume(
        bytes[start..<min(start + size, bytes.count)])
        + parser.consume([])
      {
        data.append(event.data)
      }
    }
    #expect(data == stream.data)
  }

  @Test(
    "a retry is digits, and the last one counts",
    arguments: [
      ("0", 0), ("007", 7), ("2147483647", 2_147_483_647),
    ])
  func retries(text: String, milliseconds: Int) throws {
    var parser = EventStreamParser()
    _ = try parser.consume("retry: 1\nretry: \(text)\nretry: \(text) \nretry: +1\n".utf8)
    #expect(parser.reconnectionTime == .milliseconds(milliseconds))
  }

  @Test("an event of 128 KB in one line is within the limits")
  func longLine() throws {
    var parser = EventStreamParser()
    let data = String(repeating: "x", count: 128 << 10)
    let items = try parser.consume("data: \(data)\n\n".utf8)
    #expect(items == [.event(ServerEvent(data: data))])
  }

  @Test("an id from the connection before lasts until another comes")
  func idBefore() throws {
    var parser = EventStreamParser(lastEventID: "7")
    #expect(try parser.consume(":\n\ndata: a\n\n".utf8) == [.comment, event("a", id: "7")])
    #expect(parser.lastEventID == "7")
    #expect(try parser.consume("id: 8\n\ndata: b\n\n".utf8) == [event("b", id: "8")])
  }
}
