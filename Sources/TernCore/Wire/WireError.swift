/// Why bytes could not be read as a Tern format. Nothing of a refused input is applied.
public struct WireError: Error, Hashable, Sendable {
  package struct Code: Hashable, Sendable {
    package enum Reason: String, Sendable {
      case truncated, malformed, unsupportedVersion, tooLarge
    }
    package let reason: Reason

    /// The input ends in the middle of a value.
    package static let truncated = Code(reason: .truncated)
    /// A field holds what the format does not allow.
    package static let malformed = Code(reason: .malformed)
    /// The format's version is newer than this library: update it.
    package static let unsupportedVersion = Code(reason: .unsupportedVersion)
    /// A declared or actual length is over the limit.
    package static let tooLarge = Code(reason: .tooLarge)
  }

  package let code: Code
  /// What was being read.
  package let field: String

  package init(_ code: Code, _ field: String) {
    self.code = code
    self.field = field
  }
}

extension WireError: CustomStringConvertible {
  public var description: String {
    switch code {
    case .truncated: "the input ends inside \(field)"
    case .unsupportedVersion: "\(field) has a version that this library does not know; update it"
    case .tooLarge: "\(field) is over its limit"
    default: "\(field) is malformed"
    }
  }
}

extension WireError.Code: CustomStringConvertible {
  package var description: String { reason.rawValue }
}
