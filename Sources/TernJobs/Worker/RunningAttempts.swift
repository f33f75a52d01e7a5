import TernCore

/// An attempt that goes on.
struct Attempt: Sendable {
  let claim: Claim
  /// To tell it to end.
  let task = AttemptTask()
  /// How long it runs, for observers alone.
  let ran: (@Sendable () -> Duration)?
  /// What is left until it is told to end, or, once it was, until it is fenced. `nil` where neither
  /// will be.
  fileprivate(set) var left: (@Sendable () -> Duration)?
  /// It was told to end, and is fenced next.
  fileprivate(set) var isEnding = false

  init(_ claim: Claim, _ environment: JobEnvironment) {
    self.claim = claim
    ran = environment.observers.isEmpty ? nil : environment.stopwatch()
    left = claim.limit.map(environment.countdown)
  }
}

/// The attempts that go on, until their ends are stored, and what ends one whose worker goes on.
struct RunningAttempts {
  private var attempts: [JobID: Attempt] = [:]
  private let environment: JobEnvironment

  /// How long a handler has to heed its cancellation.
  static let grace = Duration.seconds(10)

  init(_ environment: JobEnvironment) { self.environment = environment }

  var count: Int { attempts.count }
  var claims: [Claim] { attempts.values.map(\.claim) }
  private var inOrder: [(key: JobID, value: Attempt)] { attempts.sorted { $0.key < $1.key } }

  mutating func begin(_ claim: Claim) -> Attempt {
    let attempt = Attempt(claim, environment)
    attempts[claim.id] = attempt
    return attempt
  }

  /// - Returns: `false` where it is none of them.
  mutating func end(_ claim: Claim) -> Bool {
    guard attempts[claim.id]?.claim.start == claim.start else { return false }
    attempts[claim.id] = nil
    return true
  }

  // MARK: - Time

  /// Cancels attempts that went too long without progress.
  ///
  /// - Returns: those that are fenced, because their handlers did not heed their cancellation:
  ///   another attempt of the job takes its slot, and nothing that one stores then is taken.
  mutating func endOverdue() -> [Attempt] {
    var fenced: [Attempt] = []
    for (job, attempt) in inOrder {
      guard let left = attempt.left?(), left <= .zero else { continue }
      if left < .zero - Self.grace {
        // The worker slept as well, with its process or behind a locked database: that time was
        // nobody's.
        let length = attempt.isEnding ? Self.grace : attempt.claim.limit
        give(job, length)
      } else if attempt.isEnding {
        give(job, nil)
        guard !Planted.isActive(.fenceForgotten), attempt.task.fence() else { continue }
        fenced.append(attempt)
      } else {
        cancel(job, .overran)
      }
    }
    return fenced
  }

  /// What is left until the first one's time is over.
  var left: Duration? { attempts.values.compactMap { $0.left?() }.min() }

  /// One got on: its time begins anew.
  mutating func noteProgress(of claim: Claim) {
    guard let attempt = attempts[claim.id], attempt.claim.start == claim.start, !attempt.isEnding
    else { return }
    give(claim.id, claim.limit)
  }

  /// One begins something that ends by itself after a while.
  mutating func allow(_ time: Duration, for claim: Claim) {
    guard let attempt = attempts[claim.id], attempt.claim.start == claim.start,
      !attempt.isEnding, let left = attempt.left
    else { return }
    give(claim.id, max(left(), time + Self.grace))
  }

  private mutating func give(_ job: JobID, _ length: Duration?) {
    let left = length.map(environment.countdown)
    attempts[job]?.left = left
  }

  // MARK: - Cancellation

  /// Cancels those that go on over what they do not require, an expensive network say, or without
  /// what they do.
  mutating func endUnmet(_ isMet: (String) -> Bool) {
    if Planted.isActive(.lostRequirementIgnored) { return }
    for (job, attempt) in inOrder where !isMet(attempt.claim.needs) { cancel(job, .unmet) }
  }

  /// Cancels those whose job was removed, cancelled, or is somebody else's.
  ///
  /// - Parameter standing: which start of which job runs.
  mutating func recall(_ standing: [JobID: Int]) {
    for (job, attempt) in inOrder where standing[job] != attempt.claim.start {
      cancel(job, .recalled)
    }
  }

  private mutating func cancel(_ job: JobID, _ cause: CancellationCause) {
    // Who is told already is not given more time.
    guard let attempt = attempts[job], !attempt.isEnding else { return }
    attempt.task.cancel(cause)
    guard cause.isFenced else { return }
    attempts[job]?.isEnding = true
    give(job, Self.grace)
  }
}
