import Foundation
import TernJobs

/// Why a ``JobHarness`` could not do what was asked.
public struct JobHarnessError: Error, Sendable {
  public struct Code: Hashable, Sendable {
    enum Reason: String, Sendable {
      case stillWaiting, tooLong, tooManyAttempts, waitsOutside
    }
    let reason: Reason

    /// Jobs wait for what no time brings: a pause to be taken back, or a network.
    public static let stillWaiting = Code(reason: .stillWaiting)
    /// There is more to do after the time that was given.
    public static let tooLong = Code(reason: .tooLong)
    /// Jobs are tried again and again.
    public static let tooManyAttempts = Code(reason: .tooManyAttempts)
    /// A handler waits for something that is neither the harness's clock nor its executor.
    public static let waitsOutside = Code(reason: .waitsOutside)
  }

  public let code: Code
  public let message: String
  /// The jobs that have not ended, and what each waits for.
  public let waits: [JobWait]
}

extension JobHarnessError: CustomStringConvertible {
  public var description: String {
    // A long queue says the same many times.
    let shown = waits.prefix(20).map { "\n  \($0)" }.joined()
    let more = waits.count > 20 ? "\n  and \(waits.count - 20) more" : ""
    return "\(message) (\(code.reason.rawValue))\(shown)\(more)"
  }
}

extension JobHarnessError: LocalizedError {
  public var errorDescription: String? { description }
}

extension JobHarnessError.Code: CustomStringConvertible {
  public var description: String { reason.rawValue }
}
