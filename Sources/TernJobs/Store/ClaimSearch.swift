import Foundation
import GRDB
import TernCore

/// What a worker knows as it looks for jobs, beside the rows.
struct ClaimQuery {
  let kinds: HandledKinds
  /// The attempts that go on.
  var running: JobsRunning
  /// How many more may.
  let count: Int
  let budget: JobRate?
  let now: WallTime
  let outset: JobTransaction.Outset
  /// Whether there is what jobs require.
  let isMet: (String) -> Bool
  var room = JobRoom()
}

/// What there is to do now.
struct Claimed: Sendable {
  var claims: [Claim] = []
  /// With fewer claims than were asked for: no more can run before that time, or before something
  /// happens.
  var until: WallTime?
  /// When the first job that only a pace holds back may go.
  var paced: WallTime?
  /// The first of each line that is due and has to wait, where observers want to know.
  var held: [JobHeld] = []
}

/// A look for the next jobs that can run: what was read for it, until each choice.
struct ClaimSearch {
  private let rows: JobTransaction
  private var query: ClaimQuery
  private var now: WallTime { query.now }
  /// When the first job that is not due yet is.
  private let next: WallTime?
  private let pauses: JobPauses
  private var gates: [ExactText: GateLife]
  private var lines: [JobLine]
  /// What jobs require and is not there.
  private let unmet: Set<ExactText>
  /// Lanes in which no job is started.
  private let held: Set<JobLane>

  init(_ rows: JobTransaction, _ query: ClaimQuery) throws {
    (self.rows, self.query) = (rows, query)
    let outset = query.outset
    next = try rows.jobs.admit(outset.next, at: query.now)
    pauses = outset.hasPauses ? try rows.pauses.all() : JobPauses()
    // The ends that are in the same transaction may have closed one or opened it.
    gates = outset.hasGates ? try rows.gates.all() : [:]
    lines = try rows.jobs.lines()
    unmet = try Self.lookForUnmet(lines, query, rows.unmet)
    held = outset.hasHeldLanes ? try rows.credentials.heldLanes() : []
  }

  /// Says for who looks what jobs that are due require and do not have.
  private static func lookForUnmet(
    _ lines: [JobLine], _ query: ClaimQuery, _ rows: UnmetRows
  ) throws -> Set<ExactText> {
    let needs = Set(lines.map { ExactText($0.first.needs) }).subtracting([""])
    let unmet = needs.filter { !query.isMet($0.text) }
    if unmet.isEmpty, !query.outset.hasUnmet { return [] }
    try rows.replace(by: unmet, at: query.now)
    return Planted.isActive(.requirementIgnored) ? [] : unmet
  }

  /// Claims the next jobs that can run, parking on the way what cannot be read.
  mutating func claim() throws -> Claimed {
    var found = Claimed()
    while found.claims.count < query.count {
      try rows.jobs.skip(&lines, reading: query.count - found.claims.count, past: query.room)
      let decision = try ClaimChoice.decide(
        lines.map(\.first), gates: gates, pauses: pauses, next: next, now: now, hold: hold)
      guard case .claim(let head, let isProbe) = decision else {
        guard case .wait(let until, let paced) = decision else { preconditionFailure() }
        (found.until, found.paced) = (until, paced)
        break
      }
      if let claim = try claim(head) {
        try begun(claim, isProbe: isProbe)
        found.claims.append(claim)
      }
      let index = lines.firstIndex { $0.first == head }!
      let left = query.count - found.claims.count
      if try !rows.jobs.advance(&lines[index], reading: max(left, 1), past: query.room) {
        lines.remove(at: index)
      }
    }
    if rows.events != nil { found.held = try holds() }
    return found
  }

  private func hold(_ head: ClaimChoice.Head) throws -> ClaimChoice.Hold? {
    if unmet.contains(ExactText(head.needs)) { return .unmet }
    if held.contains(head.lane) { return .refused }
    return try rows.buckets.hold(head, query.kinds, query.running, query.budget, at: now)
  }

  /// What holds back the first of each line, beside a slot that is not free.
  private func holds() throws -> [JobHeld] {
    try lines.map(\.first).compactMap { head in
      try ClaimChoice.reason(head, gates: gates, pauses: pauses, now: now, hold: hold)
        .map { JobHeld(head: head, hold: $0) }
    }
  }

  /// - Returns: `nil` for a job that is parked instead.
  private func claim(_ head: ClaimChoice.Head) throws -> Claim? {
    let content = try rows.content(of: head.job)
    var life = content.life
    do {
      let terms = try query.kinds.terms(of: head.lane.kind, version: content.version)
      _ = life.handle(.claimed)
      try rows.jobs.start(head.job, life, start: content.starts + 1, at: now)
      return Claim(
        id: head.job, start: content.starts + 1, attempt: life.failures + 1,
        queue: query.outset.queue, enqueued: content.enqueued,
        awaited: max(content.since, head.ready), lane: head.lane, service: head.service,
        needs: head.needs, payload: content.payload, version: content.version, retry: terms.retry,
        limit: terms.limit, files: content.hasFiles ? try rows.files.all(of: head.job) : [:])
    } catch let unusable as Unusable {
      _ = life.handle(.unusable)
      try rows.jobs.store(life, of: head.job, since: now, reason: unusable.reason)
      try rows.failures.add(
        unusable.reason, start: content.starts, of: head.job, counts: true, at: now)
      try rows.observe(
        .parked(unusable.cause, reason: unusable.reason, ran: nil), of: head.job, head.service)
      return nil
    }
  }

  /// What the next choice, and others, see of a claim.
  private mutating func begun(_ claim: Claim, isProbe: Bool) throws {
    if isProbe, let service = claim.service {
      try rows.gates.tell(service, .claimed(claim.id))
      gates[ExactText(service)] = try rows.gates.gate(service)
    }
    try rows.buckets.take(claim.lane, query.kinds, at: now)
    query.running.add(claim.lane, claim.service)
    if query.room.refusedAt[claim.id] != nil { query.room.count += 1 }
    if rows.events != nil {
      let waited = max(now.duration - claim.awaited.duration, .zero)
      rows.observe(.started(waited: waited, isProbe: isProbe), of: claim)
    }
  }
}

/// A job that is due, and what it waits for.
struct JobHeld: Hashable, Sendable {
  let head: ClaimChoice.Head
  let hold: JobEvent.Hold
}
