import Foundation

/// What an error may say in a database and on a screen: never a payload.
enum FailureText {
  /// The error's own words where its author wrote some; otherwise its type and case, without what
  /// they carry.
  static func of(_ error: any Error) -> String {
    switch error {
    case let error as DecodingError: return reading(error)
    case is EncodingError: return "a value could not be written as JSON"
    case let error as any LocalizedError where error.errorDescription != nil:
      return error.errorDescription!
    case let error as any CustomStringConvertible: return error.description
    default: return name(of: error)
    }
  }

  /// Its type and, of an enumeration, its case, without what they carry.
  static func name(of error: any Error) -> String {
    let type = String(describing: type(of: error))
    let mirror = Mirror(reflecting: error)
    guard mirror.displayStyle == .enum else { return type }
    // A case without content has no child; one with content has it under the case's name.
    if let content = mirror.children.first { return "\(type).\(content.label ?? "")" }
    // What has words of its own says these, and not its case.
    let value: Any = error
    let hasWords = value is any CustomStringConvertible || value is any CustomDebugStringConvertible
    return hasWords ? type : "\(type).\(error)"
  }

  private static func reading(_ error: DecodingError) -> String {
    let (what, context): (String, DecodingError.Context) =
      switch error {
      case .keyNotFound(let key, let context): ("“\(key.stringValue)” is missing", context)
      case .valueNotFound(_, let context): ("a value is missing", context)
      case .typeMismatch(_, let context): ("a value has another type", context)
      case .dataCorrupted(let context): ("it is damaged", context)
      @unknown default: ("it is damaged", .init(codingPath: [], debugDescription: ""))
      }
    // Only the first key is surely the type's own; keys below it can be content.
    guard let first = context.codingPath.first else { return what }
    return "\(what), in “\(first.stringValue)”"
  }
}
