#if Server && Rehearsal
import Foundation
import Tern
import TernNetwork
import TernTesting

/// What becomes of uploads in one transaction, in rows and in the system that carries them on.
struct UploadCheck {
  let ledger: JobLedger
  let commit: JobCommit
  private var now: Int64 { ledger.now }

  /// Before the attempts that end in it are looked at.
  func check() {
    let (before, after) = (commit.uploadsBefore, commit.uploadsAfter)
    for id in Set(before.keys).union(after.keys).sorted()
    where before[id] != after[id] || commit.hasEnded(id) {
      let (old, new) = (before[id] ?? [:], after[id] ?? [:])
      guard let row = commit.after[id], !row.hasEnded, commit.draft.replaced[id] == nil else {
        if !new.isEmpty {
          ledger.fail(
            .effectsHappenOnce,
            "job \(id) has ended or is another, and keeps \(new.keys.sorted())")
        }
        continue
      }
      let ending = ending(id)
      for name in Set(old.keys).union(new.keys).sorted() {
        check(id, name, old[name], new[name], ending)
      }
    }
    let (wanted, now) = (commit.uploadsAfter.wanted, ledger.clock.milliseconds)
    for upload in before.wanted.subtracting(wanted) { ledger.book.unwanted[upload] = now }
  }

  /// What the end of an attempt means to its uploads.
  private enum Ending {
    case none
    case entrusted(JobEntry.Attempt)
    case failed(JobEntry.Attempt)
    /// Or its worker ended just then.
    case mayHaveFailed(JobEntry.Attempt)

    func consumes(_ name: String, _ spent: KeyPath<JobEntry.Attempt, Set<String>>) -> Bool {
      switch self {
      case .failed(let attempt), .mayHaveFailed(let attempt):
        attempt[keyPath: spent].contains(name)
      case .none, .entrusted: false
      }
    }

    var advice: FailureAdvice? {
      switch self {
      case .failed(let attempt), .mayHaveFailed(let attempt):
        if case .failed(let advice)? = attempt.end?.kind { advice } else { nil }
      case .none, .entrusted: nil
      }
    }

    func mustConsume(_ name: String, _ spent: KeyPath<JobEntry.Attempt, Set<String>>) -> Bool {
      if case .failed = self { consumes(name, spent) } else { false }
    }
  }

  private func ending(_ id: Int64) -> Ending {
    guard commit.hasEnded(id), let attempt = ledger.entries[id]?.attempt, let end = attempt.end,
      attempt.run == commit.process.run, let old = commit.before[id], let new = commit.after[id]
    else { return .none }
    switch end.kind {
    case .succeeded: return .none
    case .entrusted: return .entrusted(attempt)
    case .unreadable, .failed(.limited): return .failed(attempt)
    case .failed:
      if end.wasCancelled { return .none }
      let isShutDown = new.state == .waiting && old.keepsPlace(as: new)
      return commit.process.isCancelled && isShutDown ? .mayHaveFailed(attempt) : .failed(attempt)
    }
  }

  private func check(
    _ id: Int64, _ name: String, _ old: UploadRow?, _ new: UploadRow?, _ ending: Ending
  ) {
    func fail(_ invariant: Invariant, _ what: String) {
      ledger.fail(invariant, "the upload \(name) of job \(id) \(what)")
    }
    if old != new {
      ledger.trace.note("upload \(name) of job \(id): \(new.map(describe) ?? "gone")")
    }
    checkBreaks(id, name, old, new, ending)
    switch (old?.standing, new?.standing) {
    case (nil, .begun(let begun)?), (.spent?, .begun(let begun)?):
      checkBeginning(id, name, begun)
    case (.begun(let old)?, .begun(let new)?): check(id, name, old, new, ending)
    case (.begun(let begun)?, .answered?):
      ledger.entries[id]?.answered[name] = begun.id
      if !ledger.numbers(of: begun.id).isEmpty { break }
      fail(.effectsHappenOnce, "has an answer, and nobody answered \(begun.id)")
    case (.begun(let begun)?, .refused(let isSteady)?):
      checkRefusal(id, name, begun, isSteady)
    case (.answered?, .answered?):
      if old != new { fail(.effectsHappenOnce, "has another answer than before") }
      if ending.mustConsume(name, \.misread) {
        fail(.drains, "keeps an answer that its handler made nothing of")
      }
    case (.answered?, nil):
      ledger.entries[id]?.numbers[name] = nil
      if !ending.consumes(name, \.misread) { fail(.effectsHappenOnce, "lost its answer") }
    case (.refused?, .refused?):
      if old != new { fail(.effectsHappenOnce, "was refused in another way than before") }
      if ending.mustConsume(name, \.refused) { fail(.drains, "is refused twice for one refusal") }
    case (.refused?, nil), (.refused?, .spent?):
      if !ending.consumes(name, \.refused), !commit.draft.retried.contains(id) {
        fail(.effectsHappenOnce, "forgot that it was refused, and nothing failed of it")
      }
    case (.spent?, nil):
      if !commit.draft.retried.contains(id) {
        fail(.drains, "forgot that it broke \(old?.breaks ?? 0) times")
      }
    case (nil, nil), (.spent?, .spent?): break
    default:
      fail(
        .effectsHappenOnce,
        "went from \(old.map(describe) ?? "nothing") to \(new.map(describe) ?? "nothing")")
    }
    if let begun = old?.begun, begun.isAwaited, new?.begun == nil,
      let row = commit.after[id], row.state == .waiting, row.ready > now
    {
      fail(.drains, "came to its end, and its job waits on for \(row.ready - now) ms")
    }
  }

  /// How often in a row an upload may break for nothing where nobody saw the network.
  static let freeBreaks = 4

  /// How many breaks that nobody saw are stored follows from what became of the uploads.
  private func checkBreaks(
    _ id: Int64, _ name: String, _ old: UploadRow?, _ new: UploadRow?, _ ending: Ending
  ) {
    var expected = old?.breaks ?? 0
    switch (old?.standing, new?.standing) {
    case (.refused(let isSteady)?, nil), (.refused(let isSteady)?, .spent?):
      guard ending.consumes(name, \.refused) else { return }
      switch ending.advice {
      case .interrupted: expected = min(expected + (isSteady ? 0 : 1), Self.freeBreaks)
      case .unreachable: break
      default: expected = 0
      }
    case (_, .answered?): expected = 0
    case (_, nil): return
    default: break
    }
    if new?.breaks ?? 0 != expected {
      let found = new.map { "\(describe($0)), with \($0.breaks)" } ?? "gone"
      ledger.fail(.drains, "\(name) of job \(id) broke \(expected) times, and is \(found)")
    }
  }

  /// As ``JobLife/Circumstances/unseenBreaks`` of an attempt that failed.
  func unseenBreaks(_ id: Int64, _ attempt: JobEntry.Attempt) -> Int {
    let rows = commit.uploadsBefore[id] ?? [:]
    return attempt.refused.map { name in
      rows[name]?.standing == .refused(isSteady: false) ? rows[name]!.breaks : 0
    }.max() ?? 0
  }

  private func describe(_ row: UploadRow) -> String {
    switch row.standing {
    case .begun(let begun):
      "\(begun.id), \(begun.isAwaited ? "awaited" : "begun"), \(begun.until - now) ms left"
    case .answered: "answered"
    case .refused(let isSteady): "refused over \(isSteady ? "one network" : "several networks")"
    case .spent: "failed of, \(row.breaks) breaks"
    }
  }

  private func checkBeginning(
    _ id: Int64, _ name: String, _ begun: UploadRow.Begun
  ) {
    if !ledger.book.ids.insert(begun.id).inserted {
      ledger.fail(
        .effectsHappenOnce, "job \(id) begins \(name) as \(begun.id), which was another upload")
    }
    ledger.send(id, name, commit.process)
    let seconds = ledger.uploadWork(id, name)?.seconds ?? 0
    let length = begun.until - begun.since
    if commit.after[id]?.state != .running || begun.isAwaited
      || !(0...1).contains(length - Int64(seconds) * 1000)
    {
      ledger.fail(.drains, "job \(id) begins \(name) for \(length) ms: \(begun)")
    }
  }

  private func check(
    _ id: Int64, _ name: String, _ old: UploadRow.Begun, _ new: UploadRow.Begun, _ ending: Ending
  ) {
    if old.id != new.id {
      ledger.fail(.drains, "job \(id) begins \(name) as \(new.id), and \(old.id) goes on")
    }
    // A clock that was set back gives the whole time anew.
    let isAnew =
      now < old.since && new.since <= now && new.until - new.since == old.until - old.since
    if (old.since, old.until) != (new.since, new.until), !isAnew {
      ledger.fail(.drains, "job \(id) has another time for \(name): \(old) became \(new)")
    }
    switch ending {
    case .entrusted(let attempt):
      let isAwaited = old.isAwaited || attempt.entrusted.contains(name)
      if new.isAwaited != isAwaited {
        ledger.fail(.drains, "job \(id) lets \(name) go on and does not wait for it")
      }
    case .failed:
      if new.isAwaited { ledger.fail(.drains, "job \(id) failed, and waits for \(name) as well") }
    case .mayHaveFailed: break
    case .none:
      if new.isAwaited != old.isAwaited {
        ledger.fail(.drains, "job \(id) changed by itself what it waits for: \(new)")
      }
    }
  }

  private func checkRefusal(
    _ id: Int64, _ name: String, _ begun: UploadRow.Begun, _ isSteady: Bool
  ) {
    let isLate = commit.after[id]?.state == .running && begun.until <= now
    let isTold = ledger.answers(of: begun.id).contains { $0.number == nil }
    ledger.entries[id]?.refusals[name] =
      ledger.answers(of: begun.id).compactMap { ledger.book.meanings[$0] }
      + (isLate ? [.interrupted(isLocal: false)] : [])
    if !isLate, !isTold {
      ledger.fail(
        .effectsHappenOnce, "\(name) of job \(id) was refused, and nobody refused \(begun.id)")
    }
    guard let handed = ledger.book.handed[begun.id], handed.run == commit.process.run else {
      if isSteady { ledger.fail(.drains, "nobody saw the network of \(begun.id), and it counts") }
      return
    }
    let steady = Set(handed.paths.map { $0.hasRoute && $0 == ledger.path.path })
    if !steady.contains(isSteady), !(steady.isEmpty && !isSteady) {
      ledger.fail(
        .drains, "the network of \(begun.id) is said to \(isSteady ? "stay" : "change")")
    }
  }

  /// The attempt ended, and the job waits for its uploads alone.
  func checkEntrusted(
    _ old: JobRow, _ new: JobRow, _ attempt: JobEntry.Attempt
  ) {
    let rows = commit.uploadsAfter[old.id] ?? [:]
    let ends = attempt.entrusted.map { rows[$0]?.begun?.until ?? .min }
    let isRight: Bool
    if let until = ends.min(), until > now {
      isRight = (0...1).contains(new.ready - until) && !new.isDue
    } else {
      isRight = old.keepsPlace(as: new) && new.isDue
    }
    if new.state != .waiting || new.failures != old.failures || new.unreached != old.unreached
      || new.deaths != 0 || !isRight
    {
      ledger.fail(.drains, "job \(old.id) lets uploads go on, and is \(new)")
    }
  }

  /// A wait for an upload ends as that does, or as a worker that begins does not find it.
  func isFreed(_ old: JobRow, _ new: JobRow) -> Bool {
    guard new.isDue, new.ready == min(old.ready, now), new.failures == old.failures,
      new.unreached == old.unreached
    else { return false }
    let after = commit.uploadsAfter[old.id] ?? [:]
    return (commit.uploadsBefore[old.id] ?? [:]).contains { name, row in
      guard let begun = row.begun, begun.isAwaited else { return false }
      if after[name]?.begun == nil { return true }
      guard let listed = ledger.book.listed, listed.run == commit.process.run else {
        return false
      }
      return !listed.ids.contains(begun.id)
    }
  }

  func awaits(_ id: Int64) -> Bool {
    (commit.uploadsBefore[id] ?? [:]).values.contains { $0.begun?.isAwaited ?? false }
  }
}
#endif
