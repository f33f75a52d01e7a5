/// The id of an event, which few readers look at.
enum EventID: Hashable, Sendable {
  case short(ShortText)
  /// All others.
  case long(String)

  init(_ text: String) {
    var copy = text
    self = copy.withUTF8 { ShortText(0..<$0.count, in: $0) }.map { .short($0) } ?? .long(text)
  }

  var text: String {
    switch self {
    case .short(let text): text.text
    case .long(let text): text
    }
  }
}
