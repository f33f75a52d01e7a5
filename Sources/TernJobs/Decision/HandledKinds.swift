import TernCore

/// The kinds of jobs that a worker has handlers for, and on which terms each is run: all that rows
/// are claimed by, without the handlers.
struct HandledKinds: Sendable {
  struct Terms: Sendable {
    let retry: RetryPolicy
    /// ``Job/attemptLimit``.
    let limit: Duration?
    let version: Int
    let pace: JobPace
    let lanePace: JobPace
  }

  private var terms: [String: Terms] = [:]

  var kinds: Set<String> { Set(terms.keys) }

  mutating func add<J: Job>(_ type: J.Type) {
    terms[J.kind] = Terms(
      retry: J.retry, limit: J.attemptLimit, version: J.version, pace: J.pace, lanePace: J.lanePace)
  }

  /// The bounds that hold for a lane: its kind's, and its own.
  func paces(_ lane: JobLane) -> [(lane: JobLane, pace: JobPace)] {
    guard let terms = terms[lane.kind] else { return [] }
    var paces: [(JobLane, JobPace)] = []
    if terms.pace != .unbounded { paces.append((lane.ofKind, terms.pace)) }
    if !lane.name.isEmpty, terms.lanePace != .unbounded { paces.append((lane, terms.lanePace)) }
    return paces
  }

  /// - Parameter version: of the job's payload.
  /// - Throws: where no handler here can read it.
  func terms(of kind: String, version: Int) throws(Unusable) -> Terms {
    guard let terms = terms[kind] else {
      throw Unusable(.noHandler, "this app has no handler for jobs “\(kind)”")
    }
    guard version <= terms.version else {
      throw Unusable(
        .newerVersion,
        "a newer version of this app enqueued it (\(kind) \(version)); update the app")
    }
    return terms
  }
}

/// Why a job is parked.
package struct Unusable: Error {
  package let cause: JobEvent.Parking
  package let reason: String

  init(_ cause: JobEvent.Parking, _ reason: String) {
    (self.cause, self.reason) = (cause, reason)
  }
}
