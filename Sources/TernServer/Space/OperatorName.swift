#if Server
import TernCore

/// The name of an operator: a person or a program that changes spaces and tokens over HTTP.
///
/// 1 to 64 letters, digits, `-`, `_`, `.` and `@`, so that it is one word of a file and of a log.
public struct OperatorName: Hashable, Sendable {
  public let text: String

  /// The longest, in bytes.
  public static let maximumBytes = 64

  private static let bytes = Set(
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.@".utf8)

  /// - Throws: ``RemoteError`` with `malformed`.
  public init(_ text: some StringProtocol) throws(RemoteError) {
    guard (1...Self.maximumBytes).contains(text.utf8.count),
      text.utf8.allSatisfy(Self.bytes.contains)
    else {
      throw RemoteError(
        .malformed,
        "an operator's name has 1 to \(Self.maximumBytes) letters, digits, '-', '_', '.' and '@'; "
          + "use another name")
    }
    self.text = String(text)
  }
}

extension OperatorName: CustomStringConvertible {
  public var description: String { text }
}
#endif
