#if Server
import TernCore

/// The name of a member of a space: a person or an account, with as many tokens and devices as it
/// needs.
///
/// Any text of 1 to 255 bytes that a terminal can show, as an identity provider names its users.
public struct MemberName: Hashable, Sendable {
  public let text: String

  /// The longest, in bytes.
  public static let maximumBytes = 255

  /// - Throws: ``RemoteError`` with `malformed`.
  public init(_ text: some StringProtocol) throws(RemoteError) {
    let text = String(text)
    guard text.isName(ofAtMost: Self.maximumBytes) else {
      throw RemoteError(
        .malformed,
        "a member's name has 1 to \(Self.maximumBytes) bytes, without control characters and "
          + "without spaces at its ends; use another name")
    }
    self.text = text
  }

  /// A name that a store had accepted before.
  public init(stored text: String) {
    self.text = text
  }
}

extension MemberName: Comparable {
  public static func < (one: MemberName, other: MemberName) -> Bool { one.text < other.text }
}

extension MemberName: CustomStringConvertible {
  /// One of a damaged file may be any text.
  public var description: String { text.shown() }
}
#endif
