#if Server
import Foundation
import Logging

/// Writes a JSON object for each line of the log, with `time`, `level`, `message`, and the metadata
/// by their own names.
struct JSONLogHandler: LogHandler {
  var metadata: Logger.Metadata = [:]
  var logLevel: Logger.Level
  let now: @Sendable () -> Date
  let write: @Sendable (String) -> Void

  init(
    level: Logger.Level, now: @escaping @Sendable () -> Date,
    _ write: @escaping @Sendable (String) -> Void
  ) {
    (logLevel, self.now, self.write) = (level, now, write)
  }

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  func log(event: LogEvent) {
    var members: [String: String] = [:]
    for (key, value) in metadata.merging(event.metadata ?? [:], uniquingKeysWith: { $1 }) {
      members[key] = "\(value)"
    }
    // What the line is itself counts, whatever the metadata calls its own.
    members["time"] = now().formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    members["level"] = event.level.rawValue
    members["message"] = "\(event.message)"
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    guard let line = try? encoder.encode(members) else {
      fatalError("strings have a JSON form")
    }
    write(String(decoding: line, as: UTF8.self) + "\n")
  }
}
#endif
