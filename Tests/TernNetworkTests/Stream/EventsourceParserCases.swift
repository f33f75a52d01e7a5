import TernNetwork

/// The streams of `eventsource-parser`'s tests (`test/parse.test.ts` and `test/fixtures.ts` in
/// rexxars/eventsource-parser). Its errors for unknown fields and its `reset` have no counterpart here: the
/// standard passes over such lines. What is over a limit is in `EventStreamParserTests`: its `maxBufferSize` lets
/// an endless comment or unknown field pass and goes on, where Tern refuses every such line by `lineTooLong`.
extension EventStreamCase {
  static let eventsourceParser: [EventStreamCase] = whole + lineEnds

  private static let done = ServerEvent(name: "done", data: "✔")
  private static let doneText = "event: done\ndata: ✔\n\n"

  private static func messages(_ data: String...) -> [ServerEvent] {
    data.map { ServerEvent(data: $0) } + [done]
  }

  private static let long = String(repeating: "x", count: 2049)

  private static let whole: [EventStreamCase] = [
    .init(
      "basic unnamed events", (0..<5).map { "data: \($0)\n\n" }.joined() + doneText,
      messages("0", "1", "2", "3", "4")),
    .init(
      "identified messages and a retry", "event: tick\nid: 1337\nretry: 50\ndata: 1337\n\n",
      [ServerEvent(name: "tick", data: "1337", id: "1337")], lastEventID: "1337",
      retry: .milliseconds(50)),
    .init("heartbeats", ": ♥\n\ndata: A\n\n: ♥\n\ndata: B\n\n" + doneText, messages("A", "B")),
    .init(
      "multi-line data",
      "event: stock\ndata: YHOO\ndata: +2\ndata: 10\n\nevent: stock\ndata: GOOG\ndata: -8\ndata: 1881\n\n",
      [
        ServerEvent(name: "stock", data: "YHOO\n+2\n10"),
        ServerEvent(name: "stock", data: "GOOG\n-8\n1881"),
      ]),
    .init(
      "multi-byte events", "id: 1\ndata:日本 🍣\ndata: naïve 👩‍👩‍👧\n\n",
      [ServerEvent(data: "日本 🍣\nnaïve 👩‍👩‍👧", id: "1")]),
    .init(
      "empty lines thrown in", "\n\n\n\nid: 1\ndata: 我現在都看實況不玩遊戲\n\nid: 2\n" + doneText,
      [
        ServerEvent(data: "我現在都看實況不玩遊戲", id: "1"), ServerEvent(name: "done", data: "✔", id: "2"),
      ]),
    .init("leading mark", "\u{FEFF}data: 1\n\ndata: 2\n\n" + doneText, messages("1", "2")),
    .init(
      "marks in several places", "\u{FEFF}data: 1\n\n\u{FEFF}data: 2\n\ndata: 3\n\n" + doneText,
      messages("1", "3")),
    .init(
      "odd comments",
      ": Hello\n\n\(String(repeating: ":", count: 300))\ndata: First\n\n: Первый: 第二\n"
        + "data: Second\n\n: Moop \n: Moop \n: ثالث\ndata: Third\n\n:നാലാമത്തെ\ndata: Fourth\n\n"
        + doneText,
      messages("First", "Second", "Third", "Fourth")),
    .init(
      "more odd comments",
      "data:1\r\r:\u{0}\n:\r\ndata:2\n\n:\(long)\rdata:3\n\n:data:fail\r:\(long)\ndata:4\n\ndata:5",
      "1", "2", "3", "4"),
    .init(
      "empty event field", "event:\ndata: Hello 1\n\nevent:\n\n" + doneText, messages("Hello 1")),
    .init(
      "empty retry field",
      "id: 1\nretry: 500\ndata: 🥌\n\nid:2\nretry:\ndata:🧹\n\nid: 3\ndata: ✅\n\n",
      [
        ServerEvent(data: "🥌", id: "1"), ServerEvent(data: "🧹", id: "2"),
        ServerEvent(data: "✅", id: "3"),
      ], retry: .milliseconds(500)),
    .init("oddly shaped data", "data:\n\ndata\ndata\n\ndata:test\n\n", "", "\n", "test"),
    .init(
      "partially incorrect retry", "retry:1000\nretry:2000x\ndata:x\n\n", [ServerEvent(data: "x")],
      retry: .seconds(1)),
    .init(
      "incorrect retry", "\nretry: 500\n\ndata: first\n\nretry: 50x\n\ndata: second\n\n",
      [ServerEvent(data: "first"), ServerEvent(data: "second")], retry: .milliseconds(500)),
    .init(
      "id with a null keeps the one before", "id: 123\nid: bad\u{0}id\ndata: hello\n\n",
      [ServerEvent(data: "hello", id: "123")]),
    .init("id without data", "id: 42\n\nid: bad\u{0}id\n\n", [], lastEventID: "42"),
    .init("id taken back without data", "id: 42\n\nid:\n\n", [], lastEventID: ""),
    .init("id, CR", "id: 42\r\r", [], lastEventID: "42"),
    .init("id, CRLF", "id: 42\r\n\r\n", [], lastEventID: "42"),
    .init(
      "unknown fields",
      "data:abc\n data\ndata\nfoobar:xxx\njustsometext\n:comment\ndata:123\n\n" + doneText,
      messages("abc\n\n123")),
    .init("a document of JSON", "{\"error\":\"Internal\",\"message\":\"no\"}\n", []),
    .init("no field separator", "Well, this is not what I expected\n", []),
    .init("a name that only begins like one", "datax: no\ndata: ok\n\n", "ok"),
    .init("a field in two pieces", "data\n\n", ""),
  ]

  private static let lineEnds: [EventStreamCase] = [
    .init("CR", "data: dog\rdata: bark\r\rdata: cat\rdata: meow\r\r", "dog\nbark", "cat\nmeow"),
    .init("LF", "data: cow\ndata: moo\n\ndata: horse\ndata: neigh\n\n", "cow\nmoo", "horse\nneigh"),
    .init(
      "CRLF", "data: sheep\r\ndata: bleat\r\n\r\ndata: pig\r\ndata: oink\r\n\r\n", "sheep\nbleat",
      "pig\noink"),
    .init("CR between pieces of an event", "data: A\r\ndata: B\r\ndata: C\r\n\n", "A\nB\nC"),
    .init("comment, CRLF", "data: one\n:ignored\r\ndata: two\n\n", "one\ntwo"),
    .init("comment, CR", "data: one\n:ignored\rdata: two\n\n", "one\ntwo"),
    .init("bare field, CRLF", "data: one\ndata\r\ndata: two\n\n", "one\n\ntwo"),
    .init("unknown field, CR", "garbage\rdata: ok\n\n", "ok"),
    .init("an empty line of CRLF", "data: one\r\r\n", "one"),
  ]
}
