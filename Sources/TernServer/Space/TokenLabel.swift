#if Server
import TernCore

/// What an operator calls a token: the device that has it, for example.
///
/// Any text of 1 to 100 bytes that a terminal can show.
public struct TokenLabel: Hashable, Sendable {
  public let text: String

  /// The longest, in bytes.
  public static let maximumBytes = 100

  /// - Throws: ``RemoteError`` with `malformed`.
  public init(_ text: some StringProtocol) throws(RemoteError) {
    let text = String(text)
    guard text.isName(ofAtMost: Self.maximumBytes) else {
      throw RemoteError(
        .malformed,
        "a token's label has 1 to \(Self.maximumBytes) bytes, without control characters and "
          + "without spaces at its ends; use another one")
    }
    self.text = text
  }

  /// A label that a store had accepted before.
  public init(stored text: String) {
    self.text = text
  }
}

extension TokenLabel: CustomStringConvertible {
  /// One of a damaged file may be any text.
  public var description: String { text.shown() }
}

extension String {
  /// Whether a terminal shows it as it is, in one line.
  func isName(ofAtMost bytes: Int) -> Bool {
    (1...bytes).contains(utf8.count) && self == shown() && !contains(where: \.isNewline)
      && first != " " && last != " "
  }
}
#endif
