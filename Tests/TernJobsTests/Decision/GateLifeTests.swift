import Testing

@testable import TernJobs

@Suite struct GateLifeTests {
  private let a = JobID(rawValue: 1)
  private let b = JobID(rawValue: 2)

  private func time(_ milliseconds: Int64) -> WallTime { WallTime(milliseconds: milliseconds) }

  private func closed(until: Int64 = 100, probe: JobID? = nil) -> GateLife {
    GateLife(since: time(0), reopens: time(until), probe: probe)
  }

  @Test func `a gate admits nobody before its time, then one, then nobody until that one tells`() {
    #expect(closed().admission(at: time(99)) == .closed(until: time(100)))
    #expect(closed().admission(at: time(100)) == .asProbe)
    let probing = GateLife.after(.claimed(a), closed())
    #expect(probing?.admission(at: time(1000)) == .probing)
    #expect(GateLife.after(.passed(a), probing) == nil)
    #expect(GateLife.after(.ended(a), probing)?.admission(at: time(1000)) == .asProbe)
  }

  @Test func `who is not the probe neither opens the gate nor hands it on`() {
    let probing = closed(probe: a)
    #expect(GateLife.after(.passed(b), probing) == probing)
    #expect(GateLife.after(.ended(b), probing) == probing)
    #expect(GateLife.after(.passed(b), closed()) == closed())
  }

  @Test func `a second pause can only make it longer, and takes the probe's word`() {
    func again(until: Int64) -> GateLife? {
      GateLife.after(.limited(since: time(50), until: time(until)), closed(probe: a))
    }
    #expect(again(until: 60)?.reopens == time(100))
    #expect(again(until: 160)?.reopens == time(160))
    #expect(again(until: 160)?.probe == nil)
  }

  @Test func `an open gate stays open whatever ends`() {
    #expect(GateLife.after(.passed(a), nil) == nil)
    #expect(GateLife.after(.ended(a), nil) == nil)
    #expect(GateLife.after(.claimed(a), nil) == nil)
    #expect(GateLife.after(.limited(since: time(5), until: time(9)), nil)?.reopens == time(9))
  }
}

@Suite struct ClaimChoiceTests {
  private func time(_ milliseconds: Int64) -> WallTime { WallTime(milliseconds: milliseconds) }

  private func head(
    _ id: Int64, _ service: String?, _ ready: Int64, kind: String = "k", priority: Int = 0
  ) -> ClaimChoice.Head {
    ClaimChoice.Head(
      job: JobID(rawValue: id), kind: kind, service: service, priority: priority,
      ready: time(ready))
  }

  private func decide(
    _ heads: ClaimChoice.Head..., gates: [String: GateLife] = [:], pauses: JobPauses = .init(),
    next: Int64? = nil, now: Int64 = 50
  ) -> ClaimChoice.Decision {
    ClaimChoice.decide(
      heads, gates: gates, pauses: pauses, next: next.map(time), now: time(now))
  }

  private func gate(until: Int64, probe: Int64? = nil) -> GateLife {
    GateLife(since: time(0), reopens: time(until), probe: probe.map(JobID.init(rawValue:)))
  }

  @Test func `who has been ready for longest is next, and of two the older job`() {
    #expect(decide(head(1, "a", 20), head(2, nil, 10)) == .claim(JobID(rawValue: 2), probeOf: nil))
    #expect(decide(head(2, "a", 10), head(1, nil, 10)) == .claim(JobID(rawValue: 1), probeOf: nil))
  }

  @Test func `the greatest priority goes first, but not past a gate or a pause`() {
    let (low, high) = (head(1, "a", 10), head(2, "b", 20, kind: "h", priority: 1))
    #expect(decide(low, high) == .claim(high.job, probeOf: nil))
    #expect(decide(low, high, gates: ["b": gate(until: 80)]) == .claim(low.job, probeOf: nil))
    #expect(decide(low, high, pauses: JobPauses(kinds: ["h"])) == .claim(low.job, probeOf: nil))
    #expect(decide(low, high, pauses: JobPauses(all: true), next: 70) == .wait(until: time(70)))
  }

  @Test func `with nobody ready it waits for the first time that matters`() {
    #expect(decide() == .wait(until: nil))
    #expect(decide(next: 60) == .wait(until: time(60)))
    let gates = ["a": gate(until: 80)]
    #expect(decide(head(1, "a", 10), gates: gates, next: 90) == .wait(until: time(80)))
    #expect(decide(head(1, "a", 10), gates: gates, next: 70) == .wait(until: time(70)))
  }

  @Test func `a gate holds its own service only, and lets one probe pass in time`() {
    let gates = ["a": gate(until: 80)]
    #expect(
      decide(head(1, "a", 10), head(2, "b", 20), gates: gates)
        == .claim(JobID(rawValue: 2), probeOf: nil))
    #expect(
      decide(head(1, "a", 10), head(2, "b", 20), gates: gates, now: 80)
        == .claim(JobID(rawValue: 1), probeOf: "a"))
    #expect(
      decide(head(1, "a", 10), gates: ["a": gate(until: 20, probe: 9)]) == .wait(until: nil))
  }
}
