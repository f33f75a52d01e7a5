import ExampleService
import Foundation
import Logging

/// The scan service on this machine.
public struct RecognizerApplication: LocalService {
  /// Blocks its thread, and calls `found` with each book of the photo.
  public typealias Read = @Sendable (_ photo: [UInt8], _ found: (Finding) -> Void) throws -> Void

  /// 0 for a free port, which ``onListening`` is told.
  public var port = 0
  public var limits = ScanLimits()
  public var clock = ScanClock.system
  public var misbehaviour: [Misbehaviour] = []
  /// How many photos are read at the same time.
  public var photosAtOnce = 2
  public var logger: Logger
  /// Called with the port, when connections are accepted.
  public var onListening: @Sendable (Int) async -> Void = { _ in }
  private let read: Read

  public init(logger: Logger, read: @escaping Read) {
    self.logger = logger
    self.read = read
  }

  /// One that reads photos with a reader, each once, and logs warnings to standard error.
  public init(_ reader: PhotoReader) {
    var logger = Logger(label: "recognizer") { StreamLogHandler.standardError(label: $0) }
    logger.logLevel = .warning
    let memory = PhotoMemory { try reader.read($0, found: $1) }
    self.init(logger: logger) { try memory.read($0, found: $1) }
  }

  /// Serves until the task is cancelled or shut down gracefully; streams end then, and what is not
  /// recognized yet is forgotten.
  public func run() async throws {
    let board = ScanBoard(limits: limits, clock: clock) {
      var generator = SystemRandomNumberGenerator()
      return (0..<2).map { _ in
        let digits = String(generator.next() as UInt64, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
      }.joined()
    }
    let mischief = Mischief(misbehaviour)
    let bench = Workbench(
      board: board, mischief: mischief, clock: clock, width: photosAtOnce, logger: logger,
      read: read)
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { await bench.run() }
      defer { group.cancelAll() }
      try await listen(
        ScanResponder(board: board, bench: bench, mischief: mischief, clock: clock))
    }
  }
}
