#if Telemetry
import InMemoryLogging
import Logging
import Tern
import TernTelemetry

/// A log in memory, of all levels.
struct LogLines {
  private let handler = InMemoryLogHandler()

  var logger: Logger {
    var logger = Logger(label: "test") { _ in handler }
    logger.logLevel = .trace
    return logger
  }

  var entries: [InMemoryLogHandler.Entry] { handler.entries }

  /// `debug job started attempt=1 …`: without what is the same in all lines of one job.
  var texts: [String] {
    entries.map { entry in
      let rest = entry.metadata.filter { !Self.common.contains($0.key) }
      let words = rest.sorted { $0.key < $1.key }.map {
        "\($0.key.split(separator: ".").last ?? "")=\($0.value)"
      }
      return (["\(entry.level)", "\(entry.message)"] + words).joined(separator: " ")
    }
  }

  /// What identifies a job.
  var jobs: Set<String> {
    Set(
      entries.map { entry in
        Self.common.map { "\(entry.metadata[$0] ?? "none")" }.joined(separator: " ")
      })
  }

  private static let common = ["job.queue", "job.id", "job.kind", "job.service"]
}

extension Rig {
  /// With a log of its jobs.
  static func logged(includesReasons: Bool = false, _ body: (Rig, LogLines) throws -> Void) throws {
    let lines = LogLines()
    try run { rig in
      rig.observers = [
        JobLog(lines.logger, queue: "library", includesReasons: includesReasons)
      ]
      try body(rig, lines)
    }
  }
}
#endif
