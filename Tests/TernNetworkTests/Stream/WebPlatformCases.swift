import TernNetwork

/// The streams of the web platform's tests, `eventsource/` in web-platform-tests/wpt, and what they want to
/// be read. Where such a test's server ends each message with an empty line of its own, it stands here.
/// Left out is what is about windows, workers and the `EventSource` object, whose connection makes itself
/// anew; what is about the request and the answer is in `EventStreamTests`.
extension EventStreamCase {
  static let webPlatform: [EventStreamCase] =
    [
      .init(
        "event-data", "data:msg\ndata: msg\n\n:\n\ndata\n\n\n\ndata:end\n\n", "msg\nmsg", "", "end"),
      .init("format-bom", "\u{FEFF}data:1\n\n\u{FEFF}data:2\n\ndata:3\n\n", "1", "3"),
      .init("format-bom-2", "\u{FEFF}\u{FEFF}data:1\n\ndata:2\n\ndata:3\n\n", "2", "3"),
      .init("format-comments", comments, "1\n2\n3\n4"),
      .init(
        "format-data-before-final-empty-line", "retry:1000\ndata:test1\n\nid:test\ndata:test2",
        [ServerEvent(data: "test1")], lastEventID: "", retry: .seconds(1)),
      .init("format-field-data", "data:\n\ndata\ndata\n\ndata:test\n\n", "", "\n", "test"),
      .init("format-field-event-empty", "event: \ndata:data\n\n", "data"),
      .init(
        "format-field-event", "event:test\ndata:x\n\ndata:x\n\n",
        [ServerEvent(name: "test", data: "x"), ServerEvent(data: "x")]),
      .init(
        "format-field-id", "id:…\ndata:hello\n\n", [ServerEvent(data: "hello", id: "…")],
        lastEventID: "…"),
      .init(
        "format-field-id-2", "id:…\ndata:hello\n\ndata:…\n\nid: …\ndata:…\n\n",
        [
          ServerEvent(data: "hello", id: "…"), ServerEvent(data: "…", id: "…"),
          ServerEvent(data: "…", id: "…"),
        ], lastEventID: "…"),
      .init(
        "format-field-id-3", "id:…\n\ndata:x\n\n", [ServerEvent(data: "x", id: "…")],
        lastEventID: "…"),
      .init(
        "format-field-parsing",
        "data:\u{0}\ndata:  2\rData:1\ndata\u{0}:2\ndata:1\r\u{0}data:4\nda-ta:3\rdata_5\ndata:3\r"
          + "data:\r\n data:32\ndata:4\n\n", "\u{0}\n 2\n1\n3\n\n4"),
      .init(
        "format-field-retry", "retry:03000\ndata:x\n\n", [ServerEvent(data: "x")],
        retry: .seconds(3)),
      .init(
        "format-field-retry-bogus", "retry:3000\nretry:1000x\ndata:x\n\n", [ServerEvent(data: "x")],
        retry: .seconds(3)),
      .init("format-field-retry-empty", "retry\ndata:test\n\n", "test"),
      .init(
        "format-field-unknown",
        "data:test\n data\ndata\nfoobar:xxx\njustsometext\n:thisisacommentyay\ndata:test\n\n",
        "test\n\ntest"),
      .init("format-leading-space", "data:\ttest\rdata: \ndata:test\n\n", "\ttest\n\ntest"),
      .init("format-newlines", "data:test\r\ndata\ndata:test\r\n\r", "test\n\ntest"),
      .init("format-null-character", "data:\u{0}\n\n\n\n", "\u{0}"),
      .init("format-utf-8", "data:ok…\n\n", "ok…"),
    ]
    + ["\u{0}\u{0}", "x\u{0}", "\u{0}x", "x\u{0}x", " \u{0}"].map { id in
      .init(
        "format-field-id-null", "id:\(id)\ndata:hello\n\n", [ServerEvent(data: "hello")],
        lastEventID: "")
    }

  private static let comments: String = {
    let long = String(repeating: "x", count: 2048)
    return "data:1\r:\u{0}\n:\r\ndata:2\n:\(long)\rdata:3\n:data:fail\r:\(long)\ndata:4\n\n"
  }()
}
