import ExampleService
import Logging

/// The translation service on this machine.
public struct InterpreterApplication: LocalService {
  /// 0 for a free port, which ``onListening`` is told.
  public var port = 0
  public var logger: Logger
  /// Called with the port, when connections are accepted.
  public var onListening: @Sendable (Int) async -> Void = { _ in }
  public var misbehaviour: [Misdeed<InterpreterMisdeed>] = []
  /// Who sends another is refused; without one nobody needs any. It is never logged.
  public var key: String?
  private let apertium: Apertium

  /// One that logs warnings to standard error.
  public init(_ apertium: Apertium) {
    var logger = Logger(label: "interpreter") { StreamLogHandler.standardError(label: $0) }
    logger.logLevel = .warning
    (self.logger, self.apertium) = (logger, apertium)
  }

  /// Serves until the task is cancelled or shut down gracefully.
  public func run() async throws {
    try await listen(
      InterpreterResponder(
        apertium: apertium, misdeeds: Misdeeds(misbehaviour), key: key, counts: Counts()))
  }
}
