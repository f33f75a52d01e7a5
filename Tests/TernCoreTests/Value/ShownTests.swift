import TernCore
import Testing

@Suite("Value: text that a terminal can show")
struct ShownTests {
  @Test(arguments: [
    ("\u{1B}[2J", "\\u{1B}[2J"), ("\u{9B}31m", "\\u{009B}31m"), ("a\u{7F}", "a\\u{7F}"),
    ("a\u{202E}b\u{2066}c", "a\\u{202E}b\\u{2066}c"), ("\u{200F}", "\\u{200F}"),
    ("two\nlines\t", "two\\nlines\\t"), ("\u{2028}", "\\u{2028}"),
    ("Ünïcode 👩‍👧 שלום 'quoted' \\", "Ünïcode 👩‍👧 שלום 'quoted' \\"), ("", ""),
  ])
  func `what a terminal would obey is written out`(_ text: String, _ shown: String) {
    #expect(text.shown() == shown)
    let isObeyed = text.shown().unicodeScalars.contains { $0.isObeyed }
    #expect(!isObeyed)
  }

  @Test func `lines and tabs stay where that is asked for, and nothing else does`() {
    #expect("a\n\tb\r\u{1B}".shown(keepsLines: true) == "a\n\tb\\r\\u{1B}")
  }

  @Test func `a JSON document says the same afterwards`() {
    #expect(
      "[\n\"\u{9B}\u{202E}\"]".shown(keepsLines: true, isJSON: true)
        == "[\n\"\\u009b\\u202e\"]")
  }

  @Test func `what a server says of an error is written out`() {
    let error = RemoteError(.init(rawValue: "x\u{1B}]0;y\u{7}"), "a\u{1B}[2Jb\nc")
    #expect("\(error)" == "a\\u{1B}[2Jb\\nc (x\\u{1B}]0;y\\u{07})")
    #expect("\(error.code)" == "x\\u{1B}]0;y\\u{07}")
  }
}
