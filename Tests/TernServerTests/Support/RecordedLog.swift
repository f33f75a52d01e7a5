#if Server
import Logging
import Synchronization

/// What a log was told, in its order.
final class RecordedLog: Sendable {
  private let said = Mutex<[(message: String, line: String)]>([])

  var messages: [String] { said.withLock { $0.map(\.message) } }

  /// Level, message, and the metadata as `key=value`.
  var lines: [String] { said.withLock { $0.map(\.line) } }

  var logger: Logger {
    Logger(label: "tests") { _ in Handler(log: self) }
  }

  private struct Handler: LogHandler {
    let log: RecordedLog
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.trace

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
      get { metadata[key] }
      set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
      let all = metadata.merging(event.metadata ?? [:], uniquingKeysWith: { $1 })
      let pairs = all.map { "\($0.key)=\($0.value)" }.sorted().joined(separator: " ")
      log.said.withLock {
        $0.append(("\(event.message)", "\(event.level) \(event.message) \(pairs)"))
      }
    }
  }
}
#endif
