#if Telemetry
import Metrics
import Synchronization
import TernJobs

/// Counts and times a queue's jobs. Every metric has the dimension `queue`; those of kinds have
/// `kind` too. No job's id, service, lane or key is ever one, so there are as many time
/// series as kinds.
///
/// ```swift
/// environment.observers = [JobMetrics(queue: "library")]
/// ```
///
/// | metric | is | unit | further dimensions |
/// | --- | --- | --- | --- |
/// | `tern.jobs.enqueued` | a counter | jobs | `kind` |
/// | `tern.jobs.attempts` | a counter: attempts that ended | attempts | `kind`, `outcome` |
/// | `tern.jobs.settled` | a counter: jobs that go on no more | jobs | `kind`, `outcome` |
/// | `tern.jobs.wait` | a timer: from when a job was due to its start | nanoseconds | `kind` |
/// | `tern.jobs.run` | a timer: of a handler | nanoseconds | `kind`, `outcome` |
/// | `tern.jobs.running` | a meter: handlers of this process | jobs | `kind` |
/// | `tern.jobs.unfinished` | a gauge: jobs that had not ended, at the last commit | jobs | |
public final class JobMetrics: JobObserver {
  private let factory: any MetricsFactory
  private let queue: String
  private let unfinished: Gauge
  private let kinds = Mutex<[String: KindMetrics]>([:])

  /// - Parameters:
  ///   - queue: tells this database's jobs from those of others.
  ///   - factory: by default the process's own.
  public init(queue: String = "jobs", factory: any MetricsFactory = MetricsSystem.factory) {
    self.factory = factory
    self.queue = queue
    unfinished = Gauge(
      label: "tern.jobs.unfinished", dimensions: [("queue", queue)], factory: factory)
  }

  public func observe(_ event: JobEvent) {
    with(event.kind) { $0.count(event.change) }
    if let count = event.unfinished { unfinished.record(count) }
  }

  private func with<T: Sendable>(_ kind: String, _ body: (inout KindMetrics) -> T) -> T {
    kinds.withLock { kinds in
      body(&kinds[kind, or: KindMetrics([("queue", queue), ("kind", kind)], factory)])
    }
  }
}

extension JobMetrics: JobSurrounding {
  // Not by events: the end of a handler whose run ended with the database's error is told by
  // the next run.
  package func surround(_ context: JobContext, _ body: () async throws -> Void) async throws {
    let running = with(context.kind) { $0.running }
    running.increment()
    defer { running.decrement() }
    try await body()
  }
}

/// What metrics of one kind are made with.
private struct KindLabels {
  let dimensions: [(String, String)]
  let factory: any MetricsFactory

  func counter(_ label: String, _ outcome: String) -> Counter {
    Counter(label: label, dimensions: dimensions + [("outcome", outcome)], factory: factory)
  }

  func timer(_ label: String, _ outcome: String) -> Timer {
    Timer(label: label, dimensions: dimensions + [("outcome", outcome)], factory: factory)
  }
}

/// Made once for each kind: factories are slow.
private struct KindMetrics {
  private let labels: KindLabels
  private let enqueued: Counter
  private let wait: Timer
  let running: Meter
  private var attempts: [AttemptOutcome: Counter] = [:]
  private var runs: [AttemptOutcome: Timer] = [:]
  private var ended: [JobOutcome: Counter] = [:]

  init(_ dimensions: [(String, String)], _ factory: any MetricsFactory) {
    labels = KindLabels(dimensions: dimensions, factory: factory)
    enqueued = Counter(label: "tern.jobs.enqueued", dimensions: dimensions, factory: factory)
    wait = Timer(label: "tern.jobs.wait", dimensions: dimensions, factory: factory)
    running = Meter(label: "tern.jobs.running", dimensions: dimensions, factory: factory)
  }

  mutating func count(_ change: JobEvent.Change) {
    let labels = labels
    switch change {
    case .enqueued: enqueued.increment()
    case .started(let waited, _): wait.recordNanoseconds(waited.inNanoseconds)
    default: break
    }
    if let outcome = JobOutcome(change) {
      ended[outcome, or: labels.counter("tern.jobs.settled", outcome.rawValue)].increment()
    }
    guard let (outcome, ran) = AttemptOutcome.of(change) else { return }
    attempts[outcome, or: labels.counter("tern.jobs.attempts", outcome.rawValue)].increment()
    guard let ran else { return }
    runs[outcome, or: labels.timer("tern.jobs.run", outcome.rawValue)]
      .recordNanoseconds(ran.inNanoseconds)
  }
}

extension Dictionary {
  /// What is there, or is put there now.
  fileprivate subscript(key: Key, or made: @autoclosure () -> Value) -> Value {
    mutating get {
      if let value = self[key] { return value }
      let value = made()
      self[key] = value
      return value
    }
    set { self[key] = newValue }
  }
}

extension Duration {
  /// Nothing runs, or waits, for the centuries that would not fit.
  fileprivate var inNanoseconds: Int64 {
    let (seconds, attoseconds) = components
    let (product, isTooLong) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
    return isTooLong ? .max : product &+ attoseconds / 1_000_000_000
  }
}
#endif
