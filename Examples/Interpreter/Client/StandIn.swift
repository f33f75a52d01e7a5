import Foundation
import InterpreterKit
import TernNetwork

/// An interpreter in the program that needs one, where nobody answers at its usual address: so it can't
/// outlive the program.
package enum StandIn {
  /// - Parameters:
  ///   - address: an URL of this machine.
  ///   - tell: is told where the stand-in is, or `nil` where Apertium is not installed for it. Where
  ///     somebody answers, it is not called.
  ///   - body: runs beside the stand-in, and is told the same, or `nil`.
  package static func serving(
    for address: String, by apertium: Apertium = Apertium(),
    tell: @escaping @Sendable (URL?) -> Void,
    _ body: @escaping @Sendable (URL?) async throws -> Void
  ) async throws {
    guard await !isAnswered(address) else { return try await body(nil) }
    guard !apertium.pairs.isEmpty else {
      tell(nil)
      return try await body(nil)
    }
    try await InterpreterApplication(apertium).serving { url in
      tell(url)
      try await body(url)
    }
  }

  private static func isAnswered(_ address: String) async -> Bool {
    do {
      _ = try await SystemTransport.shared.send(
        HTTPRequest(.get, address, timeout: .seconds(1), idleTimeout: nil))
      return true
    } catch {
      return (error as? HTTPError)?.code != .connectionRefused
    }
  }
}
