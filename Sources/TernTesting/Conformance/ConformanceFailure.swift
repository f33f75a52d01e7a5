import Foundation
import TernCore

/// What an implementation did that its protocol rules out.
public struct ConformanceFailure: Error, Hashable, Sendable {
  public let invariant: Invariant
  /// What was expected of what, and what happened.
  public let message: String

  public init(_ invariant: Invariant, _ message: String) {
    self.invariant = invariant
    self.message = message
  }
}

extension ConformanceFailure: CustomStringConvertible {
  public var description: String { "\(invariant): \(message)" }
}

extension ConformanceFailure: LocalizedError {
  public var errorDescription: String? { description }
}

package func require(
  _ invariant: Invariant, _ condition: Bool, _ message: @autoclosure () -> String
) throws {
  if !condition { throw ConformanceFailure(invariant, message()) }
}

package func requireEqual<T: Equatable>(
  _ invariant: Invariant, _ value: T, _ expected: T, _ message: @autoclosure () -> String
) throws {
  if value != expected {
    throw ConformanceFailure(invariant, "\(message()): \(value) is not \(expected)")
  }
}
