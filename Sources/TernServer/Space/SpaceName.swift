#if Server
import TernCore

/// The name of a space: ASCII letters, digits, `-`, `_` and `.`, not beginning with a dot.
///
/// Only characters that a URL's path carries unchanged, so that a name has one spelling.
public struct SpaceName: Hashable, Sendable {
  public let text: String

  /// - Throws: ``RemoteError`` with `malformed` or `too-large`.
  public init(_ text: some StringProtocol, limits: ServerLimits = .init()) throws(RemoteError) {
    guard text.utf8.count <= limits.spaceNameBytes else {
      throw RemoteError(
        .tooLarge,
        "spaceNameBytes: a space name has at most \(limits.spaceNameBytes) bytes; use a shorter one"
      )
    }
    guard let first = text.utf8.first, first != UInt8(ascii: "."),
      text.utf8.allSatisfy(Self.isAllowed)
    else {
      throw RemoteError(
        .malformed,
        "a space name consists of letters A to Z, digits, '-', '_' and '.', and doesn't begin "
          + "with a dot; use another name")
    }
    self.text = String(text)
  }

  private static func isAllowed(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"):
      true
    case UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."):
      true
    default:
      false
    }
  }

  /// A name that a store had accepted before, whatever the limits are now.
  public init(stored text: String) {
    self.text = text
  }
}

extension SpaceName: CustomStringConvertible {
  /// One of a damaged file may be any text.
  public var description: String { text.shown() }
}
#endif
