import TernCore
import Testing

@testable import TernJobs

@Suite("Decision: what becomes of a job as its attempt ends")
struct AttemptOutcomeTests {
  private let job = JobID(rawValue: 7)
  private let now = Duration.seconds(1000)
  private let steady = JobLife.Circumstances(
    pathBefore: NetworkPath(hasRoute: true, generation: 1),
    pathAfter: NetworkPath(hasRoute: true, generation: 1))

  private func standing(failures: Int = 0, service: String? = "api") -> AttemptStanding {
    AttemptStanding(
      life: JobLife(state: .running, failures: failures), service: service,
      enqueued: time(990))
  }

  private func time(_ seconds: Int64) -> WallTime { WallTime(milliseconds: seconds * 1000) }

  private func failed(_ advice: FailureAdvice) -> AttemptEnd {
    AttemptEnd(event: .failed(advice, steady), reason: "it broke")
  }

  private func outcome(_ end: AttemptEnd, _ standing: AttemptStanding? = nil) -> AttemptOutcome {
    AttemptOutcome(end, of: job, standing ?? self.standing(), at: now)
  }

  private func begun(until: Int64, isAwaited: Bool) -> BegunTransfer {
    BegunTransfer(
      id: "id", limit: DeadlineLife(since: time(900), until: time(until)), isAwaited: isAwaited)
  }

  @Test func `a job that succeeds is done, and its gate and budget hear of it`() {
    var end = AttemptEnd(event: .succeeded, reason: nil)
    (end.ran, end.credential) = (.seconds(3), .accepted(CredentialMark(value: 1)))
    let outcome = outcome(end)
    #expect(outcome.life?.state == .done)
    #expect(outcome.gate == .passed(job))
    #expect(outcome.budget == .returned)
    #expect(outcome.credential == .accepted(CredentialMark(value: 1)))
    #expect(outcome.news == .done(ran: .seconds(3), age: .seconds(10)))
    #expect(outcome.failure == nil)
    #expect(outcome.changes.isEmpty)
  }

  @Test func `a failure that counts is tried again after a while, and spends the budget`() {
    let outcome = outcome(failed(.failed))
    #expect(outcome.life == JobLife(state: .waiting, failures: 1))
    #expect(outcome.ready == time(1001))
    #expect(outcome.reason == "it broke")
    #expect(outcome.failure == .init(reason: "it broke", counts: true))
    #expect(outcome.gate == .ended(job))
    #expect(outcome.budget == .spent)
  }

  @Test func `the last failure is the end, and what costs nothing is only noted`() {
    #expect(outcome(failed(.failed), standing(failures: 3)).life?.state == .failed)
    #expect(outcome(failed(.permanent)).life?.state == .failed)
    #expect(outcome(failed(.permanent)).failure?.counts == true)
    let unreached = outcome(failed(.unreachable), standing(failures: 3))
    #expect(unreached.life?.state == .waiting)
    #expect(unreached.failure?.counts == false)
  }

  @Test func `a failure that is not the service's leaves its budget as it is`() {
    var end = failed(.failed)
    end.isOfService = false
    #expect(outcome(end).budget == nil)
    #expect(outcome(failed(.failed), standing(service: nil)).budget == nil)
  }

  @Test func `a service that wants no requests closes its gate, and a job without one waits`() {
    let closed = GateLife.Event.limited(since: time(1000), until: time(1060))
    let end = failed(.limited(delay: .seconds(60)))
    #expect(outcome(end).gate == closed)
    // It is ready as soon as the gate lets it.
    #expect(outcome(end).ready == nil)
    #expect(outcome(end, standing(service: nil)).ready == time(1060))
  }

  @Test func `what is said to an attempt that lost its job holds for its service alone`() {
    var lost = standing()
    lost.life = nil
    let limited = outcome(failed(.limited(delay: .seconds(60))), lost)
    #expect(limited.gate == .limited(since: time(1000), until: time(1060)))
    for outcome in [limited, outcome(failed(.failed), lost)] {
      #expect(outcome.life == nil)
      #expect(outcome.failure == nil)
      #expect(outcome.budget == nil)
      #expect(outcome.news == .abandoned(ran: .zero))
    }
    #expect(outcome(failed(.failed), lost).gate == nil)
  }

  @Test func `an attempt that was stopped keeps its job's place`() {
    let outcome = outcome(failed(.failed).stopped)
    #expect(outcome.life == JobLife(state: .waiting))
    #expect(outcome.ready == nil)
    #expect(outcome.failure == nil)
    #expect(outcome.news == .stopped(ran: .zero))
  }

  @Test func `what cannot be read is parked, and its transfers are awaited no more`() {
    var standing = standing()
    standing.transfers = ["a": begun(until: 2000, isAwaited: true)]
    let outcome = outcome(AttemptEnd(event: .unusable, reason: "no JSON"), standing)
    #expect(outcome.life?.state == .parked)
    #expect(outcome.failure?.counts == true)
    #expect(outcome.changes == [.begun("a", begun(until: 2000, isAwaited: false))])
    #expect(outcome.news == .parked(.unreadable, reason: "no JSON", ran: .zero))
  }

  @Test func `a job waits for the first of its transfers, and not at all where one has ended`() {
    let end = AttemptEnd(event: .entrusted(for: .zero), reason: nil, entrusted: ["a", "b"])
    var standing = standing()
    standing.transfers = [
      "a": begun(until: 1500, isAwaited: false), "b": begun(until: 1200, isAwaited: false),
    ]
    let waiting = outcome(end, standing)
    #expect(waiting.ready == time(1200))
    #expect(waiting.reason == "what it handed over goes on: “a”, “b”")
    #expect(
      waiting.changes == [
        .begun("a", begun(until: 1500, isAwaited: true)),
        .begun("b", begun(until: 1200, isAwaited: true)),
      ])
    standing.transfers["b"] = nil
    #expect(outcome(end, standing).ready == nil)
    #expect(outcome(end, standing).reason == nil)
  }

  @Test func `a transfer that breaks unseen is free so often, and its refusal is given once`()
    throws
  {
    var begun = begun(until: 2000, isAwaited: false)
    begun.breaks = JobLife.freeBreaks
    var standing = standing()
    standing.refusals = ["a": RefusedTransfer(.unseen, answer: nil, of: begun)]
    var end = failed(.interrupted(isLocal: false))
    end.spent = [SpentTransfer(kind: .refusal, name: "a")]
    let counted = outcome(end, standing)
    #expect(counted.life?.failures == 1)
    guard case .refused("a", let kept)? = counted.changes.first else {
      Issue.record("the number of breaks is not kept")
      return
    }
    #expect(kept.isSpent)
    #expect(kept.breaks == JobLife.freeBreaks)
    // What a handler can make nothing of is no step's result any more.
    end.spent = [SpentTransfer(kind: .step, name: "b")]
    #expect(
      outcome(end, standing).changes == [.dropped(SpentTransfer(kind: .step, name: "b"))])
  }

  @Test func `a job that found no room waits, as long as there is no more than it found`() {
    var end = failed(.unreachable)
    end.full = .init(queue: "q", count: 5)
    var standing = standing()
    standing.unfinished = 5
    #expect(outcome(end, standing).life == JobLife(state: .waiting))
    #expect(outcome(end, standing).ready == nil)
    standing.unfinished = 4
    #expect(outcome(end, standing).life == JobLife(state: .waiting, unreached: 1))
    end.full?.isBefore = true
    #expect(outcome(end, standing).life == JobLife(state: .waiting))
  }

  @Test func `a refused credential costs no attempt, and its lane is told`() {
    var end = failed(.permanent)
    end.credential = .refused(CredentialMark(value: 1))
    let outcome = outcome(end)
    #expect(outcome.life == JobLife(state: .waiting))
    #expect(outcome.credential == end.credential)
    #expect(outcome.reason == "it broke")
  }
}
