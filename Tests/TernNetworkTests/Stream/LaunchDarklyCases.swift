import TernNetwork

/// The streams of LaunchDarkly's contract tests, `ssetests/` in launchdarkly/sse-contract-tests: basic
/// parsing, byte order marks, comments and line feeds. In what pieces they send them does not matter
/// here, where each stream is read in all. Reconnecting is the caller's with Tern: `EventStreamTests`. Streams that
/// have moved: `RedirectTests`. Requests with a body, and large messages over a socket: `EventStreamWireTests`.
extension EventStreamCase {
  static let launchDarkly: [EventStreamCase] = basic + marks + comments + lineFeeds

  private static let greeting = ServerEvent(name: "greeting", data: "Hello", id: "abc")

  private static let basic: [EventStreamCase] = [
    .init("one-line message", "data: Hello\n\n", "Hello"),
    .init("two messages spanning 3 chunks", "data: testtest\n\ndata:test\n\n", "testtest", "test"),
    .init("two one-line messages", "data: Hello\n\ndata: World\n\n", "Hello", "World"),
    .init("one two-line message", "data: Hello\ndata:World\n\n", "Hello\nWorld"),
    .init("empty data", "data:\n\n", ""),
    .init(
      "specific type", "event: greeting\ndata: Hello\n\n",
      [ServerEvent(name: "greeting", data: "Hello")]),
    .init("id", "id: abc\ndata: Hello\n\n", [ServerEvent(data: "Hello", id: "abc")]),
    .init("type and id", "event: greeting\nid: abc\ndata: Hello\n\n", [greeting]),
    .init("id with a null", "id: a\u{0}bc\ndata: Hello\n\n", "Hello"),
    .init(
      "id persists", "id: abc\ndata: first\n\ndata: second\n\n",
      [ServerEvent(data: "first", id: "abc"), ServerEvent(data: "second", id: "abc")]),
    .init(
      "id overridden by an empty one", "id: abc\ndata: first\n\nid: \ndata: second\n\n",
      [ServerEvent(data: "first", id: "abc"), ServerEvent(data: "second")], lastEventID: ""),
    .init("fields in reverse order", "data: Hello\nid: abc\nevent: greeting\n\n", [greeting]),
    .init(
      "unknown field", "event: greeting\ncolor: blue\ndata: Hello\n\n",
      [ServerEvent(name: "greeting", data: "Hello")]),
    .init(
      "no leading space", "event:greeting\ndata:Hello\n\n",
      [ServerEvent(name: "greeting", data: "Hello")]),
    .init(
      "extra leading space", "event:  greeting\ndata:  Hello\n\n",
      [ServerEvent(name: " greeting", data: " Hello")]),
    .init("field with no colon", "data\n\ndata\ndata\n\n", "", "\n"),
    .init("multi-byte characters", "data: €豆腐\n\n", "€豆腐"),
    .init(
      "many messages in rapid succession", (0..<100).map { "data: message \($0)\n\n" }.joined(),
      (0..<100).map { ServerEvent(data: "message \($0)") }),
    .init(
      "discards partial messages", "id: abc\ndata: Hello\n\nid: def\ndata: Goodbye",
      [ServerEvent(data: "Hello", id: "abc")], lastEventID: "abc"),
  ]

  private static let marks: [EventStreamCase] = [
    .init("mark at start", "\u{FEFF}data: Hello\n\n", "Hello"),
    .init(
      "mark before type and id", "\u{FEFF}event: greeting\nid: abc\ndata: Hello\n\n", [greeting]),
    .init("mark, several messages", "\u{FEFF}data: First\n\ndata: Second\n\n", "First", "Second"),
    .init(
      "mark in later data", "data: First\n\ndata: \u{FEFF}Second\n\n", "First", "\u{FEFF}Second"),
    .init("only the first mark", "\u{FEFF}data: \u{FEFF}Hello\n\n", "\u{FEFF}Hello"),
    .init("mark, multi-line data", "\u{FEFF}data: Line1\ndata: Line2\n\n", "Line1\nLine2"),
    .init("mark before a comment", "\u{FEFF}:comment\ndata: Hello\n\n", "Hello"),
    .init("mark before empty data", "\u{FEFF}data:\n\n", ""),
  ]

  private static let comments: [EventStreamCase] = [
    .init("single comment", ":Hello\n", []), .init("two comments", ":Hello\n:World\n", []),
    .init("comment before event", ":Hello\ndata: Hello\n\n", "Hello"),
    .init("comment after event", "data: Hello\n\n:Hello\n", "Hello"),
  ]

  private static let lineFeeds: [EventStreamCase] =
    ["\n", "\r\n", "\r"].flatMap { (end: String) -> [EventStreamCase] in
      let two =
        "data: event 1\(end)\(end)data: event 2 line 1\(end)data: event 2 line 2\(end)\(end)"
      return [
        .init("one-line event", "data: event 1\(end)\(end)", "event 1"),
        .init("one line and two", two, "event 1", "event 2 line 1\nevent 2 line 2"),
        .init(
          "empty line first", "data:\(end)data: line2\(end)data: line3\(end)\(end)",
          "\nline2\nline3"),
        .init(
          "empty line in the middle", "data: line1\(end)data:\(end)data: line3\(end)\(end)",
          "line1\n\nline3"),
        .init(
          "an extra empty line", "data: event 1\(end)\(end)\(end)data: event 2\(end)\(end)",
          "event 1",
          "event 2"),
        .init(
          "two extra empty lines", "data: event 1\(end)\(end)\(end)\(end)data: event 2\(end)\(end)",
          "event 1", "event 2"),
      ]
    } + [
      .init(
        "CR at the end of a chunk", "data: Hello\r\ndata: World\r\n\r\ndata: OK\r\n\r\n",
        "Hello\nWorld", "OK")
    ]
}
