#if Server && Rehearsal
import Tern
import TernTesting

/// What may become of a job in one transaction, and what a failure may cost it: which attempts
/// count, and how long the wait is.
struct TransitionCheck {
  let ledger: JobLedger
  let commit: JobCommit
  private var now: Int64 { ledger.now }
  private var uploads: UploadCheck { UploadCheck(ledger: ledger, commit: commit) }
  private var paces: PaceCheck { PaceCheck(ledger: ledger, commit: commit) }

  func check(_ id: Int64) {
    let (old, new) = (commit.before[id], commit.after[id])
    if old == new { return }
    ledger.trace.note(
      "job \(id) \(old.map { "\($0.state)" } ?? "new") → \(new.map(describe) ?? "gone")")
    guard let new else { return checkRemoval(old!) }
    guard let old else { return checkArrival(new) }
    if commit.draft.replaced[id] != nil { return checkReplacement(old, new) }
    switch (old.state, new.state) {
    case (.done, .done) where old.since > now && new.since == now - 1: break
    case (.cancelled, .cancelled) where old.since > now && new.since == now - 1: break
    case (_, .cancelled) where !old.hasEnded && commit.draft.cancelled.contains(id): break
    case (.waiting, .running): checkClaim(old, new)
    case (.waiting, .parked): checkParking(new)
    case (.waiting, .waiting): checkChangedWait(old, new)
    case (.running, .running) where commit.isRestarted(id): checkRestart(old, new)
    case (.running, .running): checkProgress(old, new)
    case (.running, _): checkEnd(old, new)
    case (.failed, .waiting), (.parked, .waiting): checkRevival(old, new)
    default: ledger.fail(.drains, "job \(id) went from \(old.state) to \(new.state)")
    }
  }

  private func describe(_ row: JobRow) -> String {
    let wait = row.state == .waiting ? ", ready in \(row.ready - now) ms" : ""
    return "\(row.state), failures \(row.failures), unreached \(row.unreached)\(wait)"
  }

  private func checkArrival(_ new: JobRow) {
    if commit.draft.enqueued[new.id] == nil {
      ledger.fail(.effectsHappenOnce, "job \(new.id) is there, and nobody enqueued it")
    }
    if new.starts != 0 {
      ledger.fail(.drains, "the new job \(new.id) was started \(new.starts) times")
    }
    checkFresh(new)
  }

  private func checkReplacement(_ old: JobRow, _ new: JobRow) {
    if old.state != .waiting && old.state != .parked {
      ledger.fail(.effectsHappenOnce, "job \(old.id), \(old.state), was replaced")
    }
    checkFresh(new)
  }

  private func checkFresh(_ new: JobRow) {
    let ready = commit.draft.ready[new.id] ?? now
    if new.state != .waiting || new.failures != 0 || new.deaths != 0
      || !(0...1).contains(new.ready - ready)
    {
      ledger.fail(.drains, "the new job \(new.id) is \(describe(new))")
    }
  }

  private func checkRemoval(_ old: JobRow) {
    if commit.draft.removed.contains(old.id) { return }
    let kept = commit.after.values.filter(\.hasEnded)
    let isGoneAtOnce =
      kept.count >= ledger.plan.limits.keptDone
      && kept.allSatisfy { ($0.since, $0.id) > (now, old.id) }
    if commit.draft.cancelled.contains(old.id), !old.hasEnded, isGoneAtOnce { return }
    if old.state == .running, isGoneAtOnce {
      // Done, and gone at once because nothing is kept.
      if ledger.entries[old.id]?.attempt?.end?.kind == .succeeded {
        ledger.pacing.succeeded(old.service, now: ledger.clock.milliseconds)
        return finish(old.id)
      }
    }
    // What was done later than now, by a clock that went back since, is the oldest.
    let since = old.since > now ? now - 1 : old.since
    guard old.hasEnded, kept.count >= ledger.plan.limits.keptDone,
      kept.allSatisfy({ ($0.since, $0.id) > (since, old.id) })
    else { return ledger.fail(.effectsHappenOnce, "job \(old.id), \(old.state), is gone") }
  }

  private func finish(_ id: Int64) {
    ledger.entries[id]?.isDone = true
    guard let entry = ledger.entries[id] else { return }
    for step in entry.work.steps {
      let isDone =
        step.events > 0
        ? entry.position(step) == step.events : entry.answers[step.name] != nil
      if !isDone { ledger.fail(.effectsHappenOnce, "job \(id) is done, and \(step.name) is not") }
    }
  }

  // MARK: - Starting

  private func checkClaim(_ old: JobRow, _ new: JobRow) {
    let id = new.id
    ledger.entries[id]?.attempt = JobEntry.Attempt(
      run: commit.process.run, life: commit.process.life, service: new.service,
      before: [ledger.path.path], progressedAt: ledger.clock.milliseconds)
    ledger.entries[id]?.triedIn = commit.process.run
    if new.starts != old.starts + 1 || new.failures != old.failures {
      ledger.fail(.drains, "job \(id) was started, and its failures are \(new.failures)")
    }
    // A clock that was set back is noticed, and waits are mended, as the next job is looked for.
    if new.ready != old.ready, !isMended(old, new), !(old.isDue && old.keepsPlace(as: new)) {
      ledger.fail(.drains, "the wait of job \(id) changed from \(old) to \(new)")
    }
    if new.ready > new.since {
      ledger.fail(.drains, "job \(id) was started \(new.ready - new.since) ms too early")
    }
    if !commit.process.kinds.contains(new.kind) {
      ledger.fail(.drains, "job \(id) was started without a handler for \(new.kind)")
    }
    if commit.pauses.isPaused(new.kind) {
      ledger.fail(.drains, "job \(id) was started, and \(new.kind) is paused")
    }
    if !ledger.path.has(new.needs) {
      ledger.fail(.drains, "job \(id) was started, and requires “\(new.needs)”")
    }
    checkGate(new)
    let full = ledger.entries[id]?.full
    ledger.entries[id]?.full = nil
    let count = commit.after.values.count { !$0.hasEnded }
    if let full, full.run == commit.process.run, count >= full.count {
      ledger.fail(.drains, "job \(id) was started again, and there is no more room than it found")
    }
    if !ledger.isPaced(old), full == nil,
      let late = ledger.timing.lateness(of: old, now: ledger.clock.milliseconds),
      late > 5
    {
      ledger.fail(.drains, "job \(id) was started \(late) ms too late")
    }
  }

  /// Ends that are in the same commit come before it.
  private func checkGate(_ new: JobRow) {
    let id = new.id
    let (before, after) = (commit.gatesBefore[new.service], commit.gatesAfter[new.service])
    if let probe = before?.probe, !commit.hasEnded(probe) {
      ledger.fail(.drains, "job \(id) passed the gate that job \(probe) tries")
    } else if let after {
      if after.probe != id {
        ledger.fail(.drains, "job \(id) passed a closed gate without being its probe")
      } else if after.reopens > new.since {
        ledger.fail(.drains, "job \(id) passed a gate closed for \(after.reopens - new.since) ms")
      }
    } else if let before, before.probe == nil {
      ledger.fail(.drains, "job \(id) passed a closed gate that nobody tried")
    }
  }

  private func checkParking(_ new: JobRow) {
    let isReadable = ledger.entries[new.id]?.work.isReadable ?? true
    if isReadable, commit.process.kinds.contains(new.kind) {
      ledger.fail(.drains, "job \(new.id) was parked, and nothing of it is unreadable")
    }
  }

  private func checkRevival(_ old: JobRow, _ new: JobRow) {
    let isRevived =
      old.state == .parked && old.deaths < ledger.plan.limits.deaths
      && commit.process.kinds.contains(old.kind)
    guard commit.draft.retried.contains(old.id) || isRevived else {
      return ledger.fail(.drains, "job \(old.id), \(old.state), came back by itself")
    }
    ledger.entries[old.id]?.requests = [:]
    if new.failures != 0 || new.unreached != 0 || new.deaths != 0 || new.ready > now {
      ledger.fail(.drains, "job \(old.id) came back as \(describe(new))")
    }
  }

  /// A wait only gets shorter with another network or as a worker begins to run, and moves only
  /// with the wall ledger.clock.
  private func checkChangedWait(_ old: JobRow, _ new: JobRow) {
    let id = old.id
    if new.isDue != old.isDue, !new.isDue || new.ready > now {
      return ledger.fail(.drains, "job \(id) is due at the wrong time: \(describe(new))")
    }
    if new.isDue, !old.isDue, new.since == old.since, new.ready == old.ready { return }
    if uploads.isFreed(old, new) { return }
    if old.ready > now, uploads.awaits(id) {
      // Another network is there, or a worker begins: what has begun goes on by itself.
      let isSame =
        new.since == old.since && new.ready == old.ready && new.failures == old.failures
        && (new.unreached == old.unreached || new.unreached == 0)
      if !isSame, !isMended(old, new) {
        ledger.fail(
          .drains, "job \(id) waits for an upload, and its wait changed to \(describe(new))")
      }
      return
    }
    if ledger.entries[id]?.triedIn != commit.process.run, new.failures == old.failures,
      new.unreached == 0, old.unreached > 0, new.ready <= now
    {
      ledger.entries[id]?.triedIn = commit.process.run
      return
    }
    // Those whose priority is greater than others' at once, and the rest spread over a while.
    let spread: Int64 = old.priority > 0 ? 0 : 30_000
    if new.since == old.since, new.failures == old.failures, new.unreached == 0,
      old.unreached > 0,
      new.ready == old.ready || new.ready <= now + spread + 1
    {
      let generation = ledger.path.path.generation
      if ledger.entries[id]?.wokenAt == generation {
        ledger.fail(.drains, "job \(id) tries again at once, and the network did not change")
      }
      ledger.entries[id]?.wokenAt = generation
      return
    }
    let isSame = new.failures == old.failures && new.unreached == old.unreached
    if !isSame || !isMended(old, new) {
      ledger.fail(.drains, "the wait of job \(id) changed to \(describe(new))")
    }
  }

  /// After the clock was set back a wait begins anew, and what is due stays so.
  private func isMended(_ old: JobRow, _ new: JobRow) -> Bool {
    guard old.since > new.since else { return false }
    return old.isDue
      ? new.ready == min(old.ready, new.since)
      : new.ready - new.since == max(old.ready - old.since, 0)
  }

  private func checkProgress(_ old: JobRow, _ new: JobRow) {
    let isCheckpoint = commit.draft.checkpoints[old.id] != nil
    let isSame = new.failures == old.failures && new.unreached == old.unreached
    if new.starts != old.starts || !(isCheckpoint || isSame) {
      ledger.fail(.drains, "job \(old.id), running, changed to \(describe(new))")
    }
  }

  /// The answer to an upload came before the attempt ended that had handed it over.
  private func checkRestart(_ old: JobRow, _ new: JobRow) {
    let between = old.waiting(since: now)
    guard let attempt = ledger.entries[old.id]?.attempt, attempt.run == commit.process.run,
      attempt.end?.kind == .entrusted
    else { return ledger.fail(.drains, "job \(old.id), running, was started") }
    uploads.checkEntrusted(old, between, attempt)
    explain(attempt, old, between)
    checkClaim(between, new)
  }

  // MARK: - Ending

  private func checkEnd(_ old: JobRow, _ new: JobRow) {
    let id = old.id
    guard let attempt = ledger.entries[id]?.attempt else {
      return ledger.fail(.drains, "job \(id) ended without having begun")
    }
    ledger.entries[id]?.attempt = nil
    defer { explain(attempt, old, new) }
    if attempt.run != commit.process.run {
      // Its worker is dead or was cancelled, and the next one frees it.
      let isAlive = attempt.life == commit.process.life
      return isAlive ? checkLeft(old, new) : checkFreed(old, new, "death")
    }
    if attempt.hangs { return checkFenced(old, new, attempt) }
    guard let end = attempt.end else {
      // Its payload was looked at, and no handler begun.
      if new.state == .parked, ledger.entries[id]?.work.isReadable == false { return }
      return ledger.fail(.drains, "job \(id) became \(new.state) while its handler runs")
    }
    switch end.kind {
    case .succeeded:
      // Told to end, a handler may have returned before it was done.
      if end.wasCancelled, new.state == .waiting { return checkLeft(old, new) }
      guard new.state == .done else {
        return ledger.fail(
          .drains, "the handler of job \(id) returned, and it is \(describe(new))")
      }
      finish(id)
      ledger.pacing.succeeded(old.service, now: ledger.clock.milliseconds)
    case .entrusted: uploads.checkEntrusted(old, new, attempt)
    case .unreadable:
      if new.state != .parked {
        ledger.fail(.drains, "job \(id) is unreadable and \(describe(new))")
      }
    case .failed(let advice):
      checkFailure(old, new, advice, attempt, end)
    }
  }

  /// Its worker was cancelled before it could store how the attempt ended.
  private func checkLeft(_ old: JobRow, _ new: JobRow) {
    if new.state != .waiting || new.failures != old.failures || new.unreached != old.unreached
      || new.deaths != 0 || !old.keepsPlace(as: new)
    {
      ledger.fail(.drains, "job \(old.id), left by its worker, is \(describe(new))")
    }
  }

  private func checkFreed(_ old: JobRow, _ new: JobRow, _ why: String) {
    let isParked = old.deaths + 1 >= ledger.plan.limits.deaths
    if new.state != (isParked ? .parked : .waiting) || new.failures != old.failures
      || new.unreached != old.unreached || new.deaths != old.deaths + 1
      || !old.keepsPlace(as: new)
    {
      ledger.fail(
        .drains, "after \(why) job \(old.id), failures \(old.failures), is \(describe(new))")
    }
  }

  // MARK: - Failures

  private func checkFailure(
    _ old: JobRow, _ new: JobRow, _ advice: FailureAdvice, _ attempt: JobEntry.Attempt,
    _ end: JobEntry.End
  ) {
    if case .limited(let delay) = advice { return checkLimited(old, new, delay) }
    let isShutDown = new.state == .waiting && old.keepsPlace(as: new)
    if end.wasCancelled || (commit.process.isCancelled && isShutDown) {
      ledger.entries[old.id]?.full = nil
      return isShutDown && new.failures == old.failures && new.unreached == old.unreached
        ? () : ledger.fail(.drains, "cancellation changed job \(old.id) to \(new)")
    }
    if advice == .unreachable, ledger.entries[old.id]?.full != nil {
      return checkCrowded(old, new)
    }
    paces.checkBudget(old, advice, attempt, end)
    switch advice {
    case .permanent:
      if new.state != .failed {
        ledger.fail(.drains, "job \(old.id) failed for good and is \(new)")
      }
    case .failed: checkCounted(old, new)
    case .unreachable: checkUncounted(old, new, attempt, end)
    case .interrupted(let isLocal):
      // The worker looked at the network somewhere between what was seen before and after.
      let after = [end.path, ledger.path.path]
      let isOften = uploads.unseenBreaks(old.id, attempt) >= UploadCheck.freeBreaks
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
      || new.deaths != 0 || !old.keepsPlace(as: new)
    {
      ledger.fail(.drains, "job \(old.id) found no room, which costs nothing, and is \(new)")
    }
  }

  private func checkCounted(_ old: JobRow, _ new: JobRow) {
    let id = old.id
    if new.failures != old.failures + 1 || new.unreached != 0 {
      return ledger.fail(
        .drains, "job \(id) failed and that counts: \(old.failures) became \(new.failures)")
    }
    let policy = RetryPolicy.ofJobs(old.kind)
    guard let longest = policy.delay(afterFailures: new.failures),
      let shortest = policy.delay(afterFailures: new.failures, draw: 0)
    else {
      if new.state != .failed {
        ledger.fail(.drains, "job \(id) used up its attempts and is \(new)")
      }
      return
    }
    let waits = shortest.wholeMilliseconds...longest.wholeMilliseconds + 1
    if new.state != .waiting || new.since != now || !waits.contains(new.ready - now) {
      ledger.fail(
        .drains, "after failure \(new.failures) job \(id) should wait \(waits) ms and is \(new)")
    }
  }

  private func checkUncounted(
    _ old: JobRow, _ new: JobRow, _ attempt: JobEntry.Attempt, _ end: JobEntry.End
  ) {
    let id = old.id
    if new.state != .waiting || new.failures != old.failures {
      return ledger.fail(.drains, "job \(id) reached nobody, which costs nothing, and is \(new)")
    }
    let isSteady =
      attempt.before.allSatisfy { $0 == ledger.path.path } && end.path == ledger.path.path
    let expected = isSteady ? [old.unreached + 1] : [old.unreached + 1, 1]
    let limit = Int64(60_000)
    let ceiling = min(1000 << Int64(min(new.unreached - 1, 10)), limit)
    let wait = new.ready - now
    guard expected.contains(new.unreached),
      (100...ceiling + 1).contains(wait) || (limit...limit + 1).contains(wait)
    else { return ledger.fail(.drains, "job \(id) reached nobody and waits \(wait) ms: \(new)") }
    if isSteady, !end.path.hasRoute, wait < limit {
      ledger.fail(.drains, "without a route job \(id) waits only \(wait) ms")
    }
  }

  private func checkLimited(
    _ old: JobRow, _ new: JobRow, _ delay: Duration?
  ) {
    let id = old.id
    let until = JobWorld.reopening(after: delay, now: now)
    ledger.limited[old.service] = max(ledger.limited[old.service] ?? 0, until)
    if new.state != .waiting || new.failures != old.failures || new.unreached != 0 {
      return ledger.fail(.drains, "job \(id) was told to come later and is \(new)")
    }
    let told = old.service.isEmpty ? new.ready : commit.gatesAfter[old.service]?.reopens ?? 0
    if !old.service.isEmpty, !old.keepsPlace(as: new) {
      ledger.fail(.drains, "job \(id) was told to come later and lost its place: \(new)")
    }
    if told < until {
      ledger.fail(.drains, "job \(id) was told to wait until \(until), and \(told) is remembered")
    }
  }

  /// A handler that never returned has no slot any more.
  private func checkFenced(
    _ old: JobRow, _ new: JobRow, _ attempt: JobEntry.Attempt
  ) {
    let idle = ledger.clock.milliseconds - attempt.progressedAt
    if idle < paces.fence {
      ledger.fail(.drains, "job \(old.id) lost its slot \(idle) ms after its last progress")
    }
    let end = JobEntry.End(kind: .failed(.failed), wasCancelled: true, path: ledger.path.path)
    paces.checkBudget(old, .failed, attempt, end)
    checkCounted(old, new)
  }

  /// An attempt ended, and why was looked at.
  private func explain(_ attempt: JobEntry.Attempt, _ old: JobRow, _ new: JobRow) {
    let isCounted = new.failures > old.failures || new.state == .failed
    for name in attempt.sent {
      if isCounted {
        ledger.entries[old.id]?.requests[name]?.counted += 1
      } else {
        ledger.entries[old.id]?.requests[name]?.uncounted += 1
      }
    }
  }
}
#endif
