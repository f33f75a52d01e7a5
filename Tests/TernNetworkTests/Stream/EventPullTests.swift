import TernNetwork
import Testing

@Suite("Stream: events one by one, and what they hold")
struct EventPullTests {
  private func events(_ text: String) throws -> [ServerEvent] {
    var parser = EventStreamParser()
    parser.append(Array(text.utf8))
    var events: [ServerEvent] = []
    while case .event(let event) = try parser.next() { events.append(event) }
    return events
  }

  @Test("nothing is read before it is asked for, and a piece may come while another is half read")
  func oneByOne() throws {
    var parser = EventStreamParser()
    #expect(try parser.next() == nil)
    parser.append(Array("id: 1\ndata: a\n\nretry: 5\nid: 2\n:\nda".utf8))
    #expect(try parser.next() == .event(ServerEvent(data: "a", id: "1")))
    #expect(parser.lastEventID == "1")
    #expect(parser.reconnectionTime == nil)
    parser.append(Array("ta: b\r".utf8))
    #expect(try parser.next() == .comment)
    #expect(parser.reconnectionTime == .milliseconds(5))
    parser.append([])
    #expect(try parser.next() == nil)
    parser.append(Array("\n\r\n:".utf8))
    parser.append(Array("\n".utf8))
    #expect(try parser.next() == .event(ServerEvent(data: "b", id: "2")))
    #expect(try parser.next() == .comment)
    #expect(try parser.next() == nil)
  }

  @Test("what a comment at a piece's end comes after is still there with the next piece")
  func comment() throws {
    var parser = EventStreamParser()
    parser.append(Array("event: x\nid: 1234567890123456\ndata: a\n:\n".utf8))
    #expect(try parser.next() == .comment)
    parser.append(Array("data: b\n\n".utf8))
    let event = ServerEvent(name: "x", data: "a\nb", id: "1234567890123456")
    #expect(try parser.next() == .event(event))
  }

  @Test("pieces that end in the middle of a line, and come before that is read")
  func middles() throws {
    var parser = EventStreamParser()
    let id = "1234567890123456"
    for number in 0..<20 {
      parser.append(Array("\(number > 0 ? "ta: x\n\n" : "")event: y\nid: \(id)\n:\nda".utf8))
      if number > 0 {
        #expect(try parser.next() == .event(ServerEvent(name: "y", data: "x", id: id)))
      }
      #expect(try parser.next() == .comment)
    }
  }

  @Test(
    "nothing comes after a failure, wherever its line began",
    arguments: ["data:12345\ndata:678\n\ndata:a\n\n", "data:123456789\n\ndata:a\n\n"], 1...12)
  func failure(text: String, cut: Int) throws {
    var limit = EventStreamParser.Limit()
    (limit.lineBytes, limit.eventBytes) = (12, 8)
    var parser = EventStreamParser(limit: limit)
    let bytes = Array(text.utf8)
    for piece in [bytes[..<cut], bytes[cut...], bytes[...]] {
      parser.append(Array(piece))
      if piece.startIndex == 0, piece.count == cut {
        // What has come so far can be too much already.
        _ = try? parser.next()
      } else {
        #expect(throws: EventStreamError.self) { try parser.next() }
      }
    }
  }

  @Test(
    "a line over its limit ends the stream, whatever it says and however much of it is there",
    arguments: ["data: 1234567", "event: 123456", "id: 123456789", ": 12345678901", "123456789"],
    ["", "\n", "\r\ndata: b\n\n"])
  func lineLimit(line: String, rest: String) throws {
    var limit = EventStreamParser.Limit()
    limit.lineBytes = line.utf8.count
    for isOver in [false, true] {
      if isOver { limit.lineBytes -= 1 }
      var parser = EventStreamParser(limit: limit)
      parser.append(Array("data: a\n\n\(line)\(rest)".utf8))
      #expect(try parser.next() == .event(ServerEvent(data: "a")))
      if isOver {
        for _ in 0..<2 {
          let error = #expect(throws: EventStreamError.self) { try parser.next() }
          #expect(error?.code == .lineTooLong)
        }
      } else {
        _ = try parser.next()
      }
    }
  }

  @Test(
    "an id is given as it came, however long it is and wherever its piece ends",
    arguments: [
      "7", "1234567", "12345678", "123456789", "123456789012345", "1234567890123456", "é", "a\tb",
      "\u{7F}", "\u{1F426}-9012345", "12345678901234é",
    ])
  func ids(id: String) throws {
    let text = "id: \(id)\ndata: a\n\ndata: b\n\n"
    let expected = [ServerEvent(data: "a", id: id), ServerEvent(data: "b", id: id)]
    #expect(try events(text) == expected)
    #expect(try events(text).map(\.id) == [id, id])
    var parser = EventStreamParser(lastEventID: id)
    #expect(parser.lastEventID == id)
    #expect(try parser.consume("data: b\n\n".utf8) == [.event(expected[1])])
    // With the id at the very end of a piece.
    let line = Array("id:\(id)\n".utf8)
    #expect(try parser.consume(line).isEmpty)
    #expect(try parser.consume("data: a\n\n".utf8) == [.event(expected[0])])
    #expect(parser.lastEventID == id)
  }

  @Test(
    "an id with NUL is none, whatever its length",
    arguments: ["", "12", "1234567", "123456789012345"])
  func nul(rest: String) throws {
    for id in ["\u{0}\(rest)", "\(rest)\u{0}"] {
      #expect(try events("id: 1\nid: \(id)\ndata: a\n\n") == [ServerEvent(data: "a", id: "1")])
    }
  }

  @Test("of an event's ids the last one counts, for those that follow too")
  func lastID() throws {
    let (short, long) = ("7", "12345678901234567890")
    for ids in [[short, long], [long, short], [long, ""], ["", long]] {
      let expected = ["a", "b"].map { ServerEvent(data: $0, id: ids[1]) }
      #expect(try events("id: \(ids[0])\nid: \(ids[1])\ndata: a\n\ndata: b\n\n") == expected)
    }
  }

  @Test("an event is its name, data and id, however it was made")
  func equality() throws {
    let long = "12345678901234567890"
    for id in ["", "7", "é", long] {
      var event = ServerEvent(data: "a", id: long)
      event.id = id
      #expect(event.id == id)
      #expect(event == ServerEvent(data: "a", id: id))
      #expect(Set(try events("id: \(id)\ndata: a\n\n") + [event]).count == 1)
      #expect(event != ServerEvent(data: "a", id: id + "8"))
    }
  }

  @Test("a name that differs from the last one in any byte is another")
  func names() throws {
    let names = [
      "position", "posItion", "position-2", "position-3", "x", "position", "é", "è", "message",
    ]
    let text = names.map { "event: \($0)\ndata: a\n\n" }.joined() + "event:\ndata: a\n\n"
    #expect(try events(text).map(\.name) == names + ["message"])
  }

  @Test("bytes below space are data, but for line ends", arguments: [0, 1, 8, 9, 11, 12, 14, 31])
  func control(byte: UInt8) throws {
    for count in 0..<12 {
      let data = String(repeating: "x", count: count) + String(UnicodeScalar(byte))
      #expect(try events("data: \(data)\(data)\n\n") == [ServerEvent(data: data + data)])
    }
  }
}
