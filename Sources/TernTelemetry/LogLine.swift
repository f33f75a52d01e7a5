#if Telemetry
import Logging
import TernCore
import TernJobs

/// A change in a job's life as a line of a log.
struct LogLine {
  var level = Logger.Level.debug
  /// One of a few, without anything of the job's.
  let message: String
  var metadata: [(key: String, value: String)] = []
  var reason: String?

  init(_ change: JobEvent.Change) {
    switch change {
    case .enqueued(let delay):
      message = "job enqueued"
      if delay > .zero { metadata = [("delay_ms", delay.inMilliseconds)] }
    case .replaced(let delay):
      message = "job replaced by a new one"
      if delay > .zero { metadata = [("delay_ms", delay.inMilliseconds)] }
    case .held(let hold):
      message = "job has to wait"
      metadata = [("waits_for", hold.rawValue)]
    case .started(let waited, let isProbe):
      message = "job started"
      metadata = [("waited_ms", waited.inMilliseconds)]
      if isProbe { metadata.append(("is_probe", "true")) }
    case .stepped(let name):
      message = "step stored"
      metadata = [("step", name.withoutSecrets)]
    case .saved(let name):
      (level, message) = (.trace, "value stored")
      metadata = [("value", name.withoutSecrets)]
    case .done(let ran, let age):
      message = "job done"
      metadata = [("ran_ms", ran.inMilliseconds), ("age_ms", age.inMilliseconds)]
    case .failed(let failure, let ran):
      (level, message) = Self.failed(failure)
      metadata = [("ran_ms", ran.inMilliseconds)] + Self.metadata(of: failure)
      reason = failure.reason
    case .stopped(let ran):
      message = "job stopped with its worker"
      metadata = ran.map { [("ran_ms", $0.inMilliseconds)] } ?? []
    case .died(let deaths):
      (level, message) = (.warning, "a process died that ran the job")
      metadata = [("deaths", "\(deaths)")]
    case .entrusted(let ran):
      message = "job waits for what it handed over"
      metadata = [("ran_ms", ran.inMilliseconds)]
    case .abandoned(let ran):
      message = "attempt ended whose job was gone"
      metadata = [("ran_ms", ran.inMilliseconds)]
    case .parked(let cause, let why, let ran):
      (level, message) = (.error, "job parked")
      metadata = [("cause", cause.rawValue)] + (ran.map { [("ran_ms", $0.inMilliseconds)] } ?? [])
      reason = why
    case .retried: message = "job may try again"
    case .cancelled: message = "job cancelled"
    case .removed: message = "job removed"
    }
  }

  private static func failed(_ failure: JobEvent.Failure) -> (Logger.Level, String) {
    switch failure.next {
    case .never: (.error, "job failed")
    case .gate: (.debug, "the service wants no requests for a while")
    case .after: failure.counts ? (.notice, "attempt failed") : (.debug, "attempt does not count")
    }
  }

  private static func metadata(of failure: JobEvent.Failure) -> [(key: String, value: String)] {
    let next: [(key: String, value: String)] =
      switch failure.next {
      case .never: []
      case .gate(let delay): [("gate_ms", delay.inMilliseconds)]
      case .after(let delay): [("retry_ms", delay.inMilliseconds)]
      }
    return [
      ("error", failure.error), ("advice", failure.advice.name), ("counts", "\(failure.counts)"),
    ] + next
  }
}

extension FailureAdvice {
  fileprivate var name: String {
    switch self {
    case .permanent: "permanent"
    case .failed: "failed"
    case .interrupted: "interrupted"
    case .unreachable: "unreachable"
    case .limited: "limited"
    }
  }
}

extension Duration {
  fileprivate var inMilliseconds: String { "\(milliseconds)" }
}

extension String {
  /// An address without who is named in it, its query and its fragment. Other text stays as it is.
  var withoutSecrets: String {
    guard let scheme = firstRange(of: "://") else { return self }
    let address = self[scheme.upperBound...]
    let host = address.prefix { !"/?#".contains($0) }
    // Behind the host an “@” may as well end a password that holds, unescaped, what ends a host.
    if address[host.endIndex...].contains("@") { return self[..<scheme.upperBound] + "…" }
    let shown = address.prefix { $0 != "?" && $0 != "#" }
    // A password may hold what ends a name.
    let start = host.lastIndex(of: "@").map { address.index(after: $0) } ?? address.startIndex
    return String(self[..<scheme.upperBound] + shown[start...])
  }
}
#endif
