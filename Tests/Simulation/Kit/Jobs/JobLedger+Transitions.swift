#if Server && Rehearsal
import Tern
import TernTesting

/// What may become of a job in one transaction.
extension JobLedger {
  func check(_ id: Int64, _ commit: JobCommit) {
    let (old, new) = (commit.before[id], commit.after[id])
    if old == new { return }
    trace.note(
      "job \(id) \(old.map { "\($0.state)" } ?? "new") → \(new.map(describe) ?? "gone")")
    guard let new else { return checkRemoval(old!, commit) }
    guard let old else { return checkArrival(new, commit) }
    if commit.draft.replaced[id] != nil { return checkReplacement(old, new, commit) }
    switch (old.state, new.state) {
    case (.done, .done) where old.since > now && new.since == now - 1: break
    case (.cancelled, .cancelled) where old.since > now && new.since == now - 1: break
    case (_, .cancelled) where !old.hasEnded && commit.draft.cancelled.contains(id): break
    case (.waiting, .running): checkClaim(old, new, commit)
    case (.waiting, .parked): checkParking(new, commit)
    case (.waiting, .waiting): checkChangedWait(old, new, commit)
    case (.running, .running) where commit.isRestarted(id): checkRestart(old, new, commit)
    case (.running, .running): checkProgress(old, new, commit)
    case (.running, _): checkEnd(old, new, commit)
    case (.failed, .waiting), (.parked, .waiting): checkRevival(old, new, commit)
    default: fail(.drains, "job \(id) went from \(old.state) to \(new.state)")
    }
  }

  private func describe(_ row: JobRow) -> String {
    let wait = row.state == .waiting ? ", ready in \(row.ready - now) ms" : ""
    return "\(row.state), failures \(row.failures), unreached \(row.unreached)\(wait)"
  }

  private func checkArrival(_ new: JobRow, _ commit: JobCommit) {
    if commit.draft.enqueued[new.id] == nil {
      fail(.effectsHappenOnce, "job \(new.id) is there, and nobody enqueued it")
    }
    if new.starts != 0 { fail(.drains, "the new job \(new.id) was started \(new.starts) times") }
    checkFresh(new, commit)
  }

  private func checkReplacement(_ old: JobRow, _ new: JobRow, _ commit: JobCommit) {
    if old.state != .waiting && old.state != .parked {
      fail(.effectsHappenOnce, "job \(old.id), \(old.state), was replaced")
    }
    checkFresh(new, commit)
  }

  private func checkFresh(_ new: JobRow, _ commit: JobCommit) {
    let ready = commit.draft.ready[new.id] ?? now
    if new.state != .waiting || new.failures != 0 || new.deaths != 0
      || !(0...1).contains(new.ready - ready)
    {
      fail(.drains, "the new job \(new.id) is \(describe(new))")
    }
  }

  private func checkRemoval(_ old: JobRow, _ commit: JobCommit) {
    if commit.draft.removed.contains(old.id) { return }
    let kept = commit.after.values.filter(\.hasEnded)
    let isGoneAtOnce =
      kept.count >= plan.limits.keptDone && kept.allSatisfy { ($0.since, $0.id) > (now, old.id) }
    if commit.draft.cancelled.contains(old.id), !old.hasEnded, isGoneAtOnce { return }
    if old.state == .running, isGoneAtOnce {
      // Done, and gone at once because nothing is kept.
      if entries[old.id]?.attempt?.end?.kind == .succeeded {
        pacing.succeeded(old.service, now: clock.milliseconds)
        return finish(old.id)
      }
    }
    // What was done later than now, by a clock that went back since, is the oldest.
    let since = old.since > now ? now - 1 : old.since
    guard old.hasEnded, kept.count >= plan.limits.keptDone,
      kept.allSatisfy({ ($0.since, $0.id) > (since, old.id) })
    else { return fail(.effectsHappenOnce, "job \(old.id), \(old.state), is gone") }
  }

  private func finish(_ id: Int64) {
    entries[id]?.isDone = true
    guard let entry = entries[id] else { return }
    for step in entry.work.steps {
      let isDone =
        step.events > 0
        ? entry.position(step) == step.events : entry.answers[step.name] != nil
      if !isDone { fail(.effectsHappenOnce, "job \(id) is done, and \(step.name) is not") }
    }
  }

  // MARK: - Starting

  private func checkClaim(_ old: JobRow, _ new: JobRow, _ commit: JobCommit) {
    let id = new.id
    entries[id]?.attempt = JobEntry.Attempt(
      run: commit.process.run, life: commit.process.life, service: new.service,
      before: [path.path], progressedAt: clock.milliseconds)
    entries[id]?.triedIn = commit.process.run
    if new.starts != old.starts + 1 || new.failures != old.failures {
      fail(.drains, "job \(id) was started, and its failures are \(new.failures)")
    }
    // A clock that was set back is noticed, and waits are mended, as the next job is looked for.
    if new.ready != old.ready, !isMended(old, new), !(old.isDue && keepsPlace(old, new)) {
      fail(.drains, "the wait of job \(id) changed from \(old) to \(new)")
    }
    if new.ready > new.since {
      fail(.drains, "job \(id) was started \(new.ready - new.since) ms too early")
    }
    if !commit.process.kinds.contains(new.kind) {
      fail(.drains, "job \(id) was started without a handler for \(new.kind)")
    }
    if commit.pauses.isPaused(new.kind) {
      fail(.drains, "job \(id) was started, and \(new.kind) is paused")
    }
    if !path.has(new.needs) {
      fail(.drains, "job \(id) was started, and requires “\(new.needs)”")
    }
    checkGate(new, commit)
    let full = entries[id]?.full
    entries[id]?.full = nil
    let count = commit.after.values.count { !$0.hasEnded }
    if let full, full.run == commit.process.run, count >= full.count {
      fail(.drains, "job \(id) was started again, and there is no more room than it found")
    }
    if !isPaced(old), full == nil, let late = timing.lateness(of: old, now: clock.milliseconds),
      late > 5
    {
      fail(.drains, "job \(id) was started \(late) ms too late")
    }
  }

  /// Ends that are in the same commit come before it.
  private func checkGate(_ new: JobRow, _ commit: JobCommit) {
    let id = new.id
    let (before, after) = (commit.gatesBefore[new.service], commit.gatesAfter[new.service])
    if let probe = before?.probe, !commit.hasEnded(probe) {
      fail(.drains, "job \(id) passed the gate that job \(probe) tries")
    } else if let after {
      if after.probe != id {
        fail(.drains, "job \(id) passed a closed gate without being its probe")
      } else if after.reopens > new.since {
        fail(.drains, "job \(id) passed a gate closed for \(after.reopens - new.since) ms")
      }
    } else if let before, before.probe == nil {
      fail(.drains, "job \(id) passed a closed gate that nobody tried")
    }
  }

  private func checkParking(_ new: JobRow, _ commit: JobCommit) {
    let isReadable = entries[new.id]?.work.isReadable ?? true
    if isReadable, commit.process.kinds.contains(new.kind) {
      fail(.drains, "job \(new.id) was parked, and nothing of it is unreadable")
    }
  }

  private func checkRevival(_ old: JobRow, _ new: JobRow, _ commit: JobCommit) {
    let isRevived =
      old.state == .parked && old.deaths < plan.limits.deaths
      && commit.process.kinds.contains(old.kind)
    guard commit.draft.retried.contains(old.id) || isRevived else {
      return fail(.drains, "job \(old.id), \(old.state), came back by itself")
    }
    entries[old.id]?.requests = [:]
    if new.failures != 0 || new.unreached != 0 || new.deaths != 0 || new.ready > now {
      fail(.drains, "job \(old.id) came back as \(describe(new))")
    }
  }

  /// A wait only gets shorter with another network or as a worker begins to run, and moves only
  /// with the wall clock.
  private func checkChangedWait(_ old: JobRow, _ new: JobRow, _ commit: JobCommit) {
    let id = old.id
    if new.isDue != old.isDue, !new.isDue || new.ready > now {
      return fail(.drains, "job \(id) is due at the wrong time: \(describe(new))")
    }
    if new.isDue, !old.isDue, new.since == old.since, new.ready == old.ready { return }
    if isFreed(old, new, commit) { return }
    if old.ready > now, awaitsUpload(id, commit) {
      // Another network is there, or a worker begins: what has begun goes on by itself.
      let isSame =
        new.since == old.since && new.ready == old.ready && new.failures == old.failures
        && (new.unreached == old.unreached || new.unreached == 0)
      if !isSame, !isMended(old, new) {
        fail(.drains, "job \(id) waits for an upload, and its wait changed to \(describe(new))")
      }
      return
    }
    if entries[id]?.triedIn != commit.process.run, new.failures == old.failures,
      new.unreached == 0, old.unreached > 0, new.ready <= now
    {
      entries[id]?.triedIn = commit.process.run
      return
    }
    // Those whose priority is greater than others' at once, and the rest spread over a while.
    let spread: Int64 = old.priority > 0 ? 0 : 30_000
    if new.since == old.since, new.failures == old.failures, new.unreached == 0, old.unreached > 0,
      new.ready == old.ready || new.ready <= now + spread + 1
    {
      let generation = path.path.generation
      if entries[id]?.wokenAt == generation {
        fail(.drains, "job \(id) tries again at once, and the network did not change")
      }
      entries[id]?.wokenAt = generation
      return
    }
    let isSame = new.failures == old.failures && new.unreached == old.unreached
    if !isSame || !isMended(old, new) {
      fail(.drains, "the wait of job \(id) changed to \(describe(new))")
    }
  }

  /// After the clock was set back a wait begins anew, and what is due stays so.
  private func isMended(_ old: JobRow, _ new: JobRow) -> Bool {
    guard old.since > new.since else { return false }
    return old.isDue
      ? new.ready == min(old.ready, new.since)
      : new.ready - new.since == max(old.ready - old.since, 0)
  }

  private func checkProgress(_ old: JobRow, _ new: JobRow, _ commit: JobCommit) {
    let isCheckpoint = commit.draft.checkpoints[old.id] != nil
    let isSame = new.failures == old.failures && new.unreached == old.unreached
    if new.starts != old.starts || !(isCheckpoint || isSame) {
      fail(.drains, "job \(old.id), running, changed to \(describe(new))")
    }
  }

  /// The answer to an upload came before the attempt ended that had handed it over.
  private func checkRestart(_ old: JobRow, _ new: JobRow, _ commit: JobCommit) {
    let between = old.waiting(since: now)
    guard let attempt = entries[old.id]?.attempt, attempt.run == commit.process.run,
      attempt.end?.kind == .entrusted
    else { return fail(.drains, "job \(old.id), running, was started") }
    checkEntrusted(old, between, attempt, commit)
    explain(attempt, old, between)
    checkClaim(between, new, commit)
  }

  // MARK: - Ending

  private func checkEnd(_ old: JobRow, _ new: JobRow, _ commit: JobCommit) {
    let id = old.id
    guard let attempt = entries[id]?.attempt else {
      return fail(.drains, "job \(id) ended without having begun")
    }
    entries[id]?.attempt = nil
    defer { explain(attempt, old, new) }
    if attempt.run != commit.process.run {
      // Its worker is dead or was cancelled, and the next one frees it.
      let isAlive = attempt.life == commit.process.life
      return isAlive ? checkLeft(old, new) : checkFreed(old, new, "death")
    }
    if attempt.hangs { return checkFenced(old, new, attempt, commit) }
    guard let end = attempt.end else {
      // Its payload was looked at, and no handler begun.
      if new.state == .parked, entries[id]?.work.isReadable == false { return }
      return fail(.drains, "job \(id) became \(new.state) while its handler runs")
    }
    switch end.kind {
    case .succeeded:
      // Told to end, a handler may have returned before it was done.
      if end.wasCancelled, new.state == .waiting { return checkLeft(old, new) }
      guard new.state == .done else {
        return fail(.drains, "the handler of job \(id) returned, and it is \(describe(new))")
      }
      finish(id)
      pacing.succeeded(old.service, now: clock.milliseconds)
    case .entrusted: checkEntrusted(old, new, attempt, commit)
    case .unreadable:
      if new.state != .parked { fail(.drains, "job \(id) is unreadable and \(describe(new))") }
    case .failed(let advice):
      checkFailure(old, new, advice, attempt, end, commit)
    }
  }

  /// Its worker was cancelled before it could store how the attempt ended.
  private func checkLeft(_ old: JobRow, _ new: JobRow) {
    if new.state != .waiting || new.failures != old.failures || new.unreached != old.unreached
      || new.deaths != 0 || !keepsPlace(old, new)
    {
      fail(.drains, "job \(old.id), left by its worker, is \(describe(new))")
    }
  }

  private func checkFreed(_ old: JobRow, _ new: JobRow, _ why: String) {
    let isParked = old.deaths + 1 >= plan.limits.deaths
    if new.state != (isParked ? .parked : .waiting) || new.failures != old.failures
      || new.unreached != old.unreached || new.deaths != old.deaths + 1 || !keepsPlace(old, new)
    {
      fail(
        .drains, "after \(why) job \(old.id), failures \(old.failures), is \(describe(new))")
    }
  }

  /// Its place in the order stays, unless the clock was set back since it was ready.
  func keepsPlace(_ old: JobRow, _ new: JobRow) -> Bool {
    new.ready == min(old.ready, new.since)
  }
}
#endif
