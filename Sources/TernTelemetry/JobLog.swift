#if Telemetry
import Logging
import TernCore
import TernJobs

/// Writes the life of each job to a logger, one line a change, with metadata by which the lines of
/// one job are found together: `job.queue`, `job.id`, `job.kind`, and of an attempt `job.attempt`
/// and `job.start`. They are the same in every process, so that a job's story goes on
/// after a crash.
///
/// ```swift
/// environment.observers = [JobLog(logger, queue: "library")]
/// ```
///
/// | level | what |
/// | --- | --- |
/// | trace | a saved value |
/// | debug | what else goes as it may: also a failure that costs no attempt |
/// | notice | an attempt is used up, and another one follows |
/// | warning | a process died that ran the job |
/// | error | the job has failed or is parked, until somebody sees to it |
///
/// Payloads, values, unique and idempotency keys, lanes, files and results never come into a line.
/// Kinds, services and the names of steps and values do; of an address among them, neither who is
/// named in it nor its query or fragment. An error is named by its type and case.
public struct JobLog: JobObserver {
  private let logger: Logger
  private let includesReasons: Bool

  /// - Parameters:
  ///   - logger: whose handler, level and metadata the lines have.
  ///   - queue: tells the jobs of this database from those of others, whose ids are the same.
  ///   - includesReasons: whether a line has `job.reason`, as it is stored with the job: with the
  ///     own words of errors that are not Tern's, which may be anything.
  public init(_ logger: Logger, queue: String = "jobs", includesReasons: Bool = false) {
    self.logger = logger.with("queue", queue)
    self.includesReasons = includesReasons
  }

  public func observe(_ event: JobEvent) {
    let line = LogLine(event.change)
    guard line.level >= logger.logLevel else { return }
    var logger = logger.with(event.job, event.kind, event.service, event.attempt)
    for (key, value) in line.metadata { logger[metadataKey: "job.\(key)"] = "\(value)" }
    if includesReasons, let reason = line.reason { logger = logger.with("reason", reason) }
    logger.log(level: line.level, "\(line.message)")
  }

  /// With what the lines of the context's attempt have.
  fileprivate func logger(of context: JobContext) -> Logger { logger.with(context) }
}

extension JobLog: JobSurrounding {
  package func surround(_ context: JobContext, _ body: () async throws -> Void) async throws {
    try await withLogger(logger(of: context)) { _ in try await body() }
  }
}

extension JobContext {
  /// For the handler's own lines, with the metadata of its job and attempt: that of the queue's
  /// ``JobLog``, and without one `Logger.current`. In a handler of a queue with a ``JobLog``,
  /// `Logger.current` is the same.
  public var logger: Logger {
    let log = observers.lazy.compactMap { $0 as? JobLog }.first
    return log?.logger(of: self) ?? Logger.current.with(self)
  }
}

extension Logger {
  fileprivate func with(_ key: String, _ value: String) -> Logger {
    var logger = self
    logger[metadataKey: "job.\(key)"] = "\(value)"
    return logger
  }

  fileprivate func with(_ context: JobContext) -> Logger {
    with(
      context.id, context.kind, context.service,
      JobEvent.Attempt(number: context.attempt, start: context.start))
  }

  fileprivate func with(
    _ job: JobID, _ kind: String, _ service: String?, _ attempt: JobEvent.Attempt?
  ) -> Logger {
    var logger = self
    logger[metadataKey: "job.id"] = "\(job)"
    logger[metadataKey: "job.kind"] = "\(kind)"
    if let service { logger[metadataKey: "job.service"] = "\(service.withoutSecrets)" }
    if let attempt {
      logger[metadataKey: "job.attempt"] = "\(attempt.number)"
      logger[metadataKey: "job.start"] = "\(attempt.start)"
    }
    return logger
  }
}
#endif
