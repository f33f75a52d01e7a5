import TernNetwork
import Testing

/// A stream, and what the standard makes of it.
struct EventStreamCase: Sendable, CustomTestStringConvertible {
  /// The test that it is taken from.
  var source: String
  var bytes: [UInt8]
  var events: [ServerEvent]
  /// After the whole stream, where the test says so.
  var lastEventID: String?
  var reconnectionTime: Duration?
  var limit = EventStreamParser.Limit()

  init(
    _ source: String, _ text: String, _ events: [ServerEvent], lastEventID: String? = nil,
    retry: Duration? = nil
  ) {
    (self.source, self.events, self.lastEventID) = (source, events, lastEventID)
    (bytes, reconnectionTime) = (Array(text.utf8), retry)
  }

  /// Messages without a name or an id.
  init(_ source: String, _ text: String, _ data: String...) {
    self.init(source, text, data.map { ServerEvent(data: $0) })
  }

  var testDescription: String { source }

  static let all = webPlatform + launchDarkly + eventsourceParser
}
