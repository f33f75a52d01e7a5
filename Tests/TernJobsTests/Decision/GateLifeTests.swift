import Testing

@testable import TernJobs

@Suite("Decision: the life of a gate")
struct GateLifeTests {
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

  @Test func `a pause that is told after the clock was set back adds nothing to what was left`() {
    let gate = GateLife(since: time(1000), reopens: time(1100))
    func again(until: Int64) -> GateLife? {
      GateLife.after(.limited(since: time(50), until: time(until)), gate)
    }
    #expect(again(until: 60) == GateLife(since: time(50), reopens: time(150)))
    #expect(again(until: 160) == GateLife(since: time(50), reopens: time(160)))
  }

  @Test func `an open gate stays open whatever ends`() {
    #expect(GateLife.after(.passed(a), nil) == nil)
    #expect(GateLife.after(.ended(a), nil) == nil)
    #expect(GateLife.after(.claimed(a), nil) == nil)
    #expect(GateLife.after(.limited(since: time(5), until: time(9)), nil)?.reopens == time(9))
  }
}
