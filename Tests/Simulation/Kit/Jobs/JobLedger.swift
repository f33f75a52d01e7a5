#if Server && Rehearsal
import GRDB
import Tern
import TernDatabase
import TernJobs
import TernTesting

/// Sees every commit on the database of a world of jobs, and compares what became of each job with
/// what the rules allow: the model beside the queue.
final class JobLedger: @unchecked Sendable {
  // Sendable, because only the seeded executor's one thread ever touches it.
  let plan: JobPlan
  let clock: VirtualClock
  let wall: SimulatedWall
  let path: SimulatedPath
  let trace: SimulationTrace
  private(set) var violation: String?

  /// Every job that was ever committed, also one that is done or removed.
  var entries: [Int64: JobEntry] = [:]
  /// What the database held after the last commit.
  private(set) var rows: [Int64: JobRow] = [:]
  private(set) var gates: [String: GateRow] = [:]
  private(set) var pauses = JobPauses()
  var timing = JobTiming()
  var book = UploadBook()
  /// Where there are uploads.
  weak var transfers: SimulatedTransfers?
  var pacing = JobPacing()
  private var troubled: [String: Int64] = [:]
  /// How often the wall clock was set.
  private var jumps = 0
  /// Services that said later to a job whose end is in the commit that is looked at, and until when.
  var limited: [String: Int64] = [:]

  init(
    plan: JobPlan, clock: VirtualClock, wall: SimulatedWall, path: SimulatedPath,
    trace: SimulationTrace
  ) {
    (self.plan, self.clock, self.wall, self.path) = (plan, clock, wall, path)
    self.trace = trace
  }

  /// Only the first counts: what follows can be its consequence.
  func fail(_ invariant: Invariant, _ text: String) {
    trace.note("\(invariant): \(text)")
    violation = violation ?? "\(invariant): \(text)"
  }

  /// Jobs that still have to come to an end: done, failed, or parked because something of them can
  /// not be read.
  var unfinished: [JobRow] {
    rows.values.filter { row in
      switch row.state {
      case .done, .failed, .cancelled: false
      case .waiting: entries[row.id]?.full.map { unfinishedCount < $0.count } ?? true
      case .running: true
      case .parked:
        entries[row.id]?.work.isReadable == true && row.deaths < plan.limits.deaths
          && entries[row.id]?.storedAsText.values.contains(true) != true
      }
    }.sorted { $0.id < $1.id }
  }

  private var unfinishedCount: Int { rows.values.count { !$0.hasEnded } }

  /// Milliseconds since 1970, as the queue rounds them.
  var now: Int64 { wall.now.wholeMilliseconds }

  // MARK: - Commits

  /// A transaction of a process is durable.
  func commit(_ db: Database, _ draft: JobDraft, by process: JobProcess) throws {
    let after = try JobRow.all(db)
    let gatesAfter = try GateRow.all(db)
    let pausesAfter = try JobPauses.all(db)
    for (id, enqueued) in draft.enqueued.sorted(by: { $0.key < $1.key }) {
      entries[id] = JobEntry(work: enqueued.work, files: enqueued.files)
      trace.note("job \(id) enqueued, \(enqueued.work.token) with \(enqueued.files.count) files")
      if plan.processCount > 1 { timing.becomesVisible(id, at: clock.milliseconds + 1000) }
    }
    for (id, replaced) in draft.replaced.sorted(by: { $0.key < $1.key }) {
      let triedIn = entries[id]?.triedIn ?? 0
      entries[id] = JobEntry(work: replaced.work, files: replaced.files)
      entries[id]?.triedIn = triedIn
      trace.note("job \(id) replaced by \(replaced.work.token)")
    }
    limited = toldInVain(after)
    let uploadsAfter = plan.uploads == nil ? [:] : try UploadRow.all(db, book.rows)
    let commit = JobCommit(
      before: rows, after: after, gatesBefore: gates, gatesAfter: gatesAfter,
      uploadsBefore: book.rows, uploadsAfter: uploadsAfter, pauses: pauses, draft: draft,
      process: process)
    let troubledAfter = try BudgetRow.services(db)
    let whole = Set(troubled.keys).subtracting(troubledAfter.keys)
    pacing.look(Set(troubledAfter.keys), Set(troubled.keys))
    for service in whole { timing.restored(service, now: clock.milliseconds) }
    // An attempt that succeeds makes them whole too.
    let isRestored = !rows.keys.contains(where: commit.hasEnded)
    if isRestored, whole.contains(where: { troubled[$0]! > now }) {
      PaceCheck(ledger: self, commit: commit).checkRestoration()
    }
    troubled = troubledAfter
    timing.committing(commit, now: clock.milliseconds, concurrency: plan.concurrency)
    try CommitCheck(ledger: self, commit: commit).run(db)
    timing.committed(commit, now: clock.milliseconds, wall: now)
    let delay: Int64 = plan.processCount > 1 ? 1000 : 0
    for id in draft.replaced.keys where delay > 0 {
      timing.becomesVisible(id, at: clock.milliseconds + delay)
    }
    if pauses != pausesAfter {
      trace.note("paused: \(pausesAfter.all ? "all" : "\(pausesAfter.kinds.sorted())")")
      timing.resumes(at: clock.milliseconds + delay)
    }
    (rows, gates, pauses, book.rows) = (after, gatesAfter, pausesAfter, uploadsAfter)
  }

  /// Services that said later to a job that is gone, or was cancelled, before its handler had
  /// returned: what they said holds for the others.
  private func toldInVain(_ after: [Int64: JobRow]) -> [String: Int64] {
    let told = entries.compactMap { id, entry -> (String, Int64)? in
      guard let attempt = entry.attempt, after[id]?.hasEnded ?? true,
        case .failed(.limited(let delay)) = attempt.end?.kind
      else { return nil }
      return (attempt.service, JobWorld.reopening(after: delay, now: now))
    }
    return Dictionary(told) { max($0, $1) }
  }

  // MARK: - What handlers tell

  /// A handler begins to run.
  func begin(_ id: Int64, _ process: JobProcess) {
    guard rows[id]?.state == .running, entries[id]?.attempt?.run == process.run else {
      // Removed or cancelled between the claim and now.
      if rows[id].map({ $0.state != .cancelled }) ?? false {
        fail(.effectsHappenOnce, "job \(id) runs, and nobody claimed it")
      }
      return
    }
    trace.note("job \(id) begins")
    entries[id]?.attempt?.before.append(path.path)
  }

  /// A handler's commit, which is rolled back now, found no room for another job.
  func foundNoRoom(_ id: Int64, _ process: JobProcess) {
    entries[id]?.full = (unfinishedCount, process.run)
  }

  /// A handler is about to end.
  func end(_ id: Int64, _ end: JobEntry.End, _ process: JobProcess) {
    guard !process.isDead, entries[id]?.attempt?.run == process.run else { return }
    trace.note("job \(id) ends: \(end.kind)\(end.wasCancelled ? ", cancelled" : "")")
    entries[id]?.attempt?.end = end
    if entries[id]?.attempt?.isUnsteady ?? false { entries[id]?.attempt?.before = [.unseen] }
    // Removed or cancelled as it ran, it had its slot until now.
    if rows[id].map({ $0.state == .cancelled }) ?? true { timing.occupy(until: clock.milliseconds) }
  }

  /// A handler asks for a deadline.
  func asks(_ id: Int64, _ name: String) {
    if entries[id]?.deadlines[name] != nil { return }
    entries[id]?.deadlines[name] = .init(asked: clock.milliseconds, jumps: jumps)
  }

  /// What is left of a deadline holds over attempts and processes.
  func deadline(_ id: Int64, _ name: String, _ seconds: Int, left: Duration) {
    guard let begun = entries[id]?.deadlines[name] else { return }
    let answered = begun.answered ?? clock.milliseconds
    entries[id]?.deadlines[name]?.answered = answered
    guard begun.jumps == jumps else { return }
    func rest(of begin: Int64) -> Int64 {
      max(Int64(seconds) * 1000 - (clock.milliseconds - begin), 0)
    }
    let expected = rest(of: begun.asked) - 2...rest(of: answered) + 2
    if !expected.contains(left.wholeMilliseconds) {
      fail(.drains, "job \(id) has \(left) left of \(name), and it should be \(expected) ms")
    }
  }

  func wallJumped() {
    jumps += 1
    pacing.wallJumped()
    timing.wallJumped(rows, gates, now: clock.milliseconds, wall: now)
  }

  /// A step's work is about to be done.
  func work(_ id: Int64, _ name: String) {
    if entries[id]?.answers[name] != nil {
      fail(.effectsHappenOnce, "job \(id) works on \(name) again, which was committed")
    }
  }
}

/// Compares one transaction with what the rules allow.
private struct CommitCheck {
  let ledger: JobLedger
  let commit: JobCommit

  func run(_ db: Database) throws {
    // Before the attempts that end in it are looked at.
    UploadCheck(ledger: ledger, commit: commit).check()
    let transitions = TransitionCheck(ledger: ledger, commit: commit)
    for id in Set(commit.before.keys).union(commit.after.keys).sorted() { transitions.check(id) }
    for (id, checkpoint) in commit.draft.checkpoints.sorted(by: { $0.key < $1.key }) {
      try store(checkpoint, of: id, db)
    }
    let gates = GateCheck(ledger: ledger, commit: commit)
    gates.checkGates()
    gates.checkOrder()
    let paces = PaceCheck(ledger: ledger, commit: commit)
    paces.checkPaces()
    paces.checkAttempts()
    try gates.checkLimits(db)
  }

  private func store(
    _ checkpoint: JobDraft.Checkpoint, of id: Int64, _ db: Database
  ) throws {
    ledger.trace.note("job \(id) committed \(checkpoint.name) = \(checkpoint.answer)")
    guard let row = commit.after[id], row.state == .running else {
      return ledger.fail(
        .effectsHappenOnce, "job \(id) committed \(checkpoint.name) and does not run")
    }
    let isStored = try Bool.fetchOne(
      db,
      sql: "SELECT EXISTS (SELECT 1 FROM grdb_tern_jobcheckpoint WHERE job = ? AND name = ?)",
      arguments: [id, checkpoint.stored])!
    if !isStored {
      ledger.fail(
        .effectsHappenOnce, "rows of \(checkpoint.name) of job \(id) are there, its result not")
    }
    if row.failures != 0 || row.unreached != 0 {
      ledger.fail(
        .drains, "job \(id) reached a checkpoint, and its \(row.failures) failures stay")
    }
    if ledger.entries[id]?.answers.updateValue(checkpoint.answer, forKey: checkpoint.name) != nil {
      ledger.fail(.effectsHappenOnce, "job \(id) committed \(checkpoint.name) a second time")
    }
    ledger.entries[id]?.attempt?.progressedAt = ledger.clock.milliseconds
    ledger.entries[id]?.storedAsText[checkpoint.name] = checkpoint.storedAsText
    for name in checkpoint.released { ledger.entries[id]?.files[name] = nil }
    for (name, content) in checkpoint.created { ledger.entries[id]?.files[name] = content }
  }
}

/// One transaction, as the ledger sees it.
struct JobCommit {
  let before: [Int64: JobRow]
  let after: [Int64: JobRow]
  let gatesBefore: [String: GateRow]
  let gatesAfter: [String: GateRow]
  /// By job and name.
  let uploadsBefore: [Int64: [String: UploadRow]]
  let uploadsAfter: [Int64: [String: UploadRow]]
  /// What held before it.
  let pauses: JobPauses
  let draft: JobDraft
  let process: JobProcess

  /// Whether an attempt of a job ended.
  func hasEnded(_ id: Int64) -> Bool {
    before[id]?.state == .running && (after[id]?.state != .running || isRestarted(id))
  }

  /// Whether a job was started.
  func isClaimed(_ id: Int64) -> Bool {
    after[id]?.state == .running && (before[id]?.state == .waiting || isRestarted(id))
  }

  /// An attempt ended, with nothing to wait for, and the next one has begun.
  func isRestarted(_ id: Int64) -> Bool {
    guard let old = before[id], let new = after[id] else { return false }
    return old.state == .running && new.state == .running && new.starts > old.starts
  }
}

extension JobWorld {
  /// When a gate reopens that closes now.
  static func reopening(after delay: Duration?, now: Int64) -> Int64 {
    now + min(max((delay ?? gateDelay).wholeMilliseconds, 1000), longestGate.wholeMilliseconds)
  }
}

extension Duration {
  var wholeMilliseconds: Int64 {
    let (seconds, attoseconds) = components
    return seconds * 1000 + attoseconds / 1_000_000_000_000_000
  }
}
#endif
