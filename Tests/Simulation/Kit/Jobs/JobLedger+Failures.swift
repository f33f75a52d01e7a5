#if Server && Rehearsal
import Tern
import TernTesting

/// What a failure may cost a job: which attempts count, and how long the wait is.
extension JobLedger {
  func checkFailure(
    _ old: JobRow, _ new: JobRow, _ advice: FailureAdvice, _ attempt: JobEntry.Attempt,
    _ end: JobEntry.End, _ commit: JobCommit
  ) {
    if case .limited(let delay) = advice { return checkLimited(old, new, delay, commit) }
    let isShutDown = new.state == .waiting && keepsPlace(old, new)
    if end.wasCancelled || (commit.process.isCancelled && isShutDown) {
      entries[old.id]?.full = nil
      return isShutDown && new.failures == old.failures && new.unreached == old.unreached
        ? () : fail(.drains, "cancellation changed job \(old.id) to \(new)")
    }
    if advice == .unreachable, entries[old.id]?.full != nil { return checkCrowded(old, new) }
    checkBudget(old, advice, attempt, end)
    switch advice {
    case .permanent:
      if new.state != .failed { fail(.drains, "job \(old.id) failed for good and is \(new)") }
    case .failed: checkCounted(old, new)
    case .unreachable: checkUncounted(old, new, attempt, end)
    case .interrupted(let isLocal):
      // The worker looked at the network somewhere between what was seen before and after.
      let after = [end.path, path.path]
      let isOften = unseenBreaks(old.id, attempt, commit) >= Self.freeBreaks
      let counts = Set(
        attempt.before.flatMap { before in
          after.map { isLocal || (before.hasRoute && before == $0) || (isOften && $0.hasRoute) }
        })
      let isCounted = counts.count == 1 ? counts.contains(true) : new.unreached == 0
      if isCounted { checkCounted(old, new) } else { checkUncounted(old, new, attempt, end) }
    case .limited: break
    }
  }

  /// It waits for room alone, in its place.
  private func checkCrowded(_ old: JobRow, _ new: JobRow) {
    if new.state != .waiting || new.failures != old.failures || new.unreached != 0
      || new.deaths != 0 || !keepsPlace(old, new)
    {
      fail(.drains, "job \(old.id) found no room, which costs nothing, and is \(new)")
    }
  }

  func policy(_ kind: String) -> RetryPolicy {
    switch kind {
    case Scan.name: Scan.retry
    case Upload.name: Upload.retry
    case Translate.name: Translate.retry
    default: Index.retry
    }
  }

  func checkCounted(_ old: JobRow, _ new: JobRow) {
    let id = old.id
    if new.failures != old.failures + 1 || new.unreached != 0 {
      return fail(
        .drains, "job \(id) failed and that counts: \(old.failures) became \(new.failures)")
    }
    let policy = policy(old.kind)
    guard let longest = policy.delay(afterFailures: new.failures),
      let shortest = policy.delay(afterFailures: new.failures, draw: 0)
    else {
      if new.state != .failed { fail(.drains, "job \(id) used up its attempts and is \(new)") }
      return
    }
    let waits = shortest.wholeMilliseconds...longest.wholeMilliseconds + 1
    if new.state != .waiting || new.since != now || !waits.contains(new.ready - now) {
      fail(
        .drains, "after failure \(new.failures) job \(id) should wait \(waits) ms and is \(new)")
    }
  }

  private func checkUncounted(
    _ old: JobRow, _ new: JobRow, _ attempt: JobEntry.Attempt, _ end: JobEntry.End
  ) {
    let id = old.id
    if new.state != .waiting || new.failures != old.failures {
      return fail(.drains, "job \(id) reached nobody, which costs nothing, and is \(new)")
    }
    let isSteady = attempt.before.allSatisfy { $0 == path.path } && end.path == path.path
    let expected = isSteady ? [old.unreached + 1] : [old.unreached + 1, 1]
    let limit = Int64(60_000)
    let ceiling = min(1000 << Int64(min(new.unreached - 1, 10)), limit)
    let wait = new.ready - now
    guard expected.contains(new.unreached),
      (100...ceiling + 1).contains(wait) || (limit...limit + 1).contains(wait)
    else { return fail(.drains, "job \(id) reached nobody and waits \(wait) ms: \(new)") }
    if isSteady, !end.path.hasRoute, wait < limit {
      fail(.drains, "without a route job \(id) waits only \(wait) ms")
    }
  }

  private func checkLimited(
    _ old: JobRow, _ new: JobRow, _ delay: Duration?, _ commit: JobCommit
  ) {
    let id = old.id
    let until = reopening(after: delay)
    limited[old.service] = max(limited[old.service] ?? 0, until)
    if new.state != .waiting || new.failures != old.failures || new.unreached != 0 {
      return fail(.drains, "job \(id) was told to come later and is \(new)")
    }
    let told = old.service.isEmpty ? new.ready : commit.gatesAfter[old.service]?.reopens ?? 0
    if !old.service.isEmpty, !keepsPlace(old, new) {
      fail(.drains, "job \(id) was told to come later and lost its place: \(new)")
    }
    if told < until {
      fail(.drains, "job \(id) was told to wait until \(until), and \(told) is remembered")
    }
  }
}
#endif
