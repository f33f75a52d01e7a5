import Foundation
import GRDB
import TernCore
import TernDatabase

extension JobRows {
  /// Claims the next jobs that can run, parking on the way what cannot be read.
  func claim(_ query: ClaimQuery) throws -> Claimed {
    var query = query
    let now = query.now
    let next = try admit(query.outset.next, at: now)
    let pauses = query.outset.hasPauses ? try pauses() : JobPauses()
    // The ends that are in the same transaction may have closed one or opened it.
    var gates = query.outset.hasGates ? try gates() : [:]
    var lines = try lines()
    let unmet = try lookForUnmet(lines, query)
    let held = query.outset.hasHeldLanes ? try heldLanes() : []
    var found = Claimed()
    while found.claims.count < query.count {
      try skip(&lines, reading: query.count - found.claims.count, past: query.room)
      let decision = try ClaimChoice.decide(
        lines.map(\.first), gates: gates, pauses: pauses, next: next, now: now
      ) { head in
        if unmet.contains(ExactText(head.needs)) { return .unmet }
        if held.contains(head.lane) { return .refused }
        return try hold(head, query.kinds, query.running, query.budget, at: now)
      }
      guard case .claim(let head, let isProbe) = decision else {
        guard case .wait(let until, let paced) = decision else { preconditionFailure() }
        (found.until, found.paced) = (until, paced)
        break
      }
      if let claim = try claim(head, query) {
        if isProbe, let service = head.service {
          try tell(service, .claimed(head.job))
          gates[ExactText(service)] = try gate(service)
        }
        try takeTokens(head.lane, query.kinds, at: now)
        query.running.add(head.lane, head.service)
        if query.room.refusedAt[head.job] != nil { query.room.count += 1 }
        if events != nil {
          let waited = max(now.duration - claim.awaited.duration, .zero)
          observe(.started(waited: waited, isProbe: isProbe), of: claim)
        }
        found.claims.append(claim)
      }
      let index = lines.firstIndex { $0.first == head }!
      let left = query.count - found.claims.count
      if try !advance(&lines[index], reading: max(left, 1), past: query.room) {
        lines.remove(at: index)
      }
    }
    if events != nil { found.held = try holds(lines, query, gates, pauses, unmet, held) }
    return found
  }

  /// Says for who looks what jobs that are due require and do not have.
  private func lookForUnmet(_ lines: [JobLine], _ query: ClaimQuery) throws -> Set<ExactText> {
    let needs = Set(lines.map { ExactText($0.first.needs) }).subtracting([""])
    let unmet = needs.filter { !query.isMet($0.text) }
    if unmet.isEmpty, !query.outset.hasUnmet { return [] }
    let stored = try Set(rows("SELECT needs FROM \(JobTables.unmet)").map { ExactText($0[0]) })
    for need in stored.subtracting(unmet) {
      try run("DELETE FROM \(JobTables.unmet) WHERE needs = ?", [need.text])
    }
    for need in unmet.subtracting(stored).map(\.text).sorted() {
      try run("INSERT INTO \(JobTables.unmet) VALUES (?, ?)", [need, query.now.milliseconds])
    }
    return Planted.isActive(.requirementIgnored) ? [] : unmet
  }

  /// - Returns: `nil` for a job that is parked instead.
  private func claim(_ head: ClaimChoice.Head, _ query: ClaimQuery) throws -> Claim? {
    let now = query.now
    let content = try FastStatement(db, Self.content)
    content.bindAll(head.job.rawValue)
    let (payload, version, starts, enqueued, since, hasFiles, before) = try content.first {
      (
        Data(content.blob(0)), content.int(1), content.int(2),
        WallTime(milliseconds: content.int64(3)), WallTime(milliseconds: content.int64(8)),
        content.bool(7),
        JobLife(
          state: .waiting, failures: content.int(4), unreached: content.int(5),
          deaths: content.int(6))
      )
    }!
    var life = before
    do {
      let terms = try query.kinds.terms(of: head.lane.kind, version: version)
      _ = life.handle(.claimed)
      try run(
        Self.start,
        [
          life.state.rawValue, now.milliseconds, now.milliseconds, starts + 1, head.job.rawValue,
        ])
      return Claim(
        id: head.job, start: starts + 1, attempt: life.failures + 1, queue: query.outset.queue,
        enqueued: enqueued, awaited: max(since, head.ready), lane: head.lane, service: head.service,
        needs: head.needs, payload: payload, version: version, retry: terms.retry,
        limit: terms.limit, files: hasFiles ? try files(of: head.job) : [:])
    } catch let unusable as Unusable {
      _ = life.handle(.unusable)
      try store(life, of: head.job, since: now, reason: unusable.reason)
      try note(unusable.reason, start: starts, of: head.job, counts: true, at: now)
      try observe(
        .parked(unusable.cause, reason: unusable.reason, ran: nil), of: head.job, head.service)
      return nil
    }
  }

  private static let content = """
    SELECT payload, version, starts, enqueued_ms, failures, unreached, deaths,
      EXISTS (SELECT 1 FROM \(JobTables.file) WHERE job = ?1), since_ms
    FROM \(JobTables.job) WHERE id = ?1
    """
  private static let start = """
    UPDATE \(JobTables.job) SET state = ?, since_ms = ?, ready_ms = min(ready_ms, ?), starts = ?,
      reason = NULL
    WHERE id = ?
    """

  private func files(of job: JobID) throws -> [String: String] {
    let rows = try rows(
      "SELECT name, path FROM \(JobTables.file) WHERE job = ?", [job.rawValue])
    return Dictionary(uniqueKeysWithValues: rows.map { ($0[0], $0[1]) })
  }
}
