import GRDB
import TernCore

/// What ends an attempt whose worker goes on.
extension JobWorker {
  /// How long a handler has to heed its cancellation.
  static let grace = Duration.seconds(10)

  /// Cancels attempts that went too long without progress, and gives on the slots of those whose
  /// handlers did not heed their cancellation.
  func endOverdue() {
    for (job, attempt) in ofRun.attempts.sorted(by: { $0.key < $1.key }) {
      guard let left = attempt.left?(), left <= .zero else { continue }
      if left < .zero - Self.grace {
        // The worker slept as well, with its process or behind a locked database: that time was
        // nobody's.
        let length = attempt.isEnding ? Self.grace : attempt.claim.limit
        ofRun.attempts[job]?.left = length.map(queue.environment.countdown)
      } else if attempt.isEnding {
        fence(attempt)
      } else {
        cancel(job, .overran)
      }
    }
  }

  /// Has the loop look again when the first attempt's time is over. Not by its wait, which every
  /// end of an attempt interrupts: a sleep would begin with each. An alarm that is no longer the
  /// first rings for nothing.
  func arm(_ group: inout DiscardingTaskGroup) {
    guard let delay = ofRun.attempts.values.compactMap({ $0.left?() }).min() else { return }
    if let set = ofRun.alarm?(), set > .zero, set <= delay { return }
    let (environment, news) = (queue.environment, ofRun.news)
    ofRun.alarm = environment.countdown(delay)
    group.addTask {
      // Cancelled as the run ends.
      guard (try? await environment.sleep(for: max(delay, .zero))) != nil else { return }
      news?.yield()
    }
  }

  /// Cancels attempts that go on over what they do not require, an expensive network say, or
  /// without what they do.
  func endUnmet() {
    if Planted.isActive(.lostRequirementIgnored) { return }
    for (job, attempt) in ofRun.attempts.sorted(by: { $0.key < $1.key })
    where !isMet(attempt.claim.needs) { cancel(job, .unmet) }
  }

  /// Tells an attempt to end.
  func cancel(_ job: JobID, _ cause: CancellationCause) {
    // Who is told already is not given more time.
    guard let attempt = ofRun.attempts[job], !attempt.isEnding else { return }
    attempt.task.cancel(cause)
    guard cause.isFenced else { return }
    ofRun.attempts[job]?.isEnding = true
    ofRun.attempts[job]?.left = queue.environment.countdown(Self.grace)
  }

  /// Ends an attempt whose handler goes on: another attempt of the job takes its slot, and nothing
  /// that it stores from then on is taken.
  private func fence(_ attempt: Attempt) {
    let claim = attempt.claim
    ofRun.attempts[claim.id]?.left = nil
    guard !Planted.isActive(.fenceForgotten), attempt.task.fence() else { return }
    let failure = JobFailure(
      .failed,
      "\(claim.overrun), and its handler did not heed its cancellation within \(Self.grace)")
    var end = end(of: claim, failure, pathBefore: path.path)
    end.ran = attempt.ran?()
    _ = ends.add(EndedAttempt(claim: claim, end: end, pathBefore: path.path))
  }

  /// It got on: its time begins anew.
  func noteProgress(of claim: Claim) {
    guard let attempt = ofRun.attempts[claim.id], attempt.claim.start == claim.start,
      !attempt.isEnding
    else { return }
    ofRun.attempts[claim.id]?.left = claim.limit.map(queue.environment.countdown)
  }

  /// It begins something that ends by itself after a while.
  func allow(_ time: Duration, for claim: Claim) {
    guard let attempt = ofRun.attempts[claim.id], attempt.claim.start == claim.start,
      !attempt.isEnding, let left = attempt.left
    else { return }
    ofRun.attempts[claim.id]?.left = queue.environment.countdown(max(left(), time + Self.grace))
  }

  /// What a handler says that was fenced: that its service wants no requests, for example, holds
  /// for the others.
  func heed(_ end: AttemptEnd, of claim: Claim) async {
    do {
      try await write { try $0.heed(end, of: claim, queue.environment) }
      ofRun.news?.yield()
    } catch {
      // It has no attempt that could fail of it.
      if error is DatabaseError, !Task.isCancelled { fail(error) }
    }
  }
}

extension Claim {
  var overrun: String {
    "the attempt went \(limit.map { "\($0)" } ?? "too long") without progress"
  }
}
