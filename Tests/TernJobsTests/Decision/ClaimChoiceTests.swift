import Testing

@testable import TernJobs

@Suite("Decision: who is claimed next")
struct ClaimChoiceTests {
  private func time(_ milliseconds: Int64) -> WallTime { WallTime(milliseconds: milliseconds) }

  private func head(
    _ id: Int64, _ service: String?, _ ready: Int64, kind: String = "k", priority: Int = 0
  ) -> ClaimChoice.Head {
    ClaimChoice.Head(
      job: JobID(rawValue: id), lane: JobLane(kind: kind), service: service, priority: priority,
      ready: time(ready))
  }

  private func decide(
    _ heads: ClaimChoice.Head..., gates: [ExactText: GateLife] = [:], pauses: JobPauses = .init(),
    next: Int64? = nil, now: Int64 = 50, holds: [Int64: ClaimChoice.Hold] = [:]
  ) -> ClaimChoice.Decision {
    ClaimChoice.decide(
      heads, gates: gates, pauses: pauses, next: next.map(time), now: time(now)
    ) { holds[$0.job.rawValue] }
  }

  private func gate(until: Int64, probe: Int64? = nil) -> GateLife {
    GateLife(since: time(0), reopens: time(until), probe: probe.map(JobID.init(rawValue:)))
  }

  private func wait(until: Int64?, paced: Int64? = nil) -> ClaimChoice.Decision {
    .wait(until: until.map(time), paced: paced.map(time))
  }

  @Test func `who has been ready for longest is next, and of two the older job`() {
    let early = head(2, nil, 10)
    #expect(decide(head(1, "a", 20), early) == .claim(early, isProbe: false))
    let older = head(1, nil, 10)
    #expect(decide(head(2, "a", 10), older) == .claim(older, isProbe: false))
  }

  @Test func `the greatest priority goes first, but not past a gate, a pause or a pace`() {
    let (low, high) = (head(1, "a", 10), head(2, "b", 20, kind: "h", priority: 1))
    #expect(decide(low, high) == .claim(high, isProbe: false))
    #expect(decide(low, high, gates: ["b": gate(until: 80)]) == .claim(low, isProbe: false))
    #expect(decide(low, high, pauses: JobPauses(kinds: ["h"])) == .claim(low, isProbe: false))
    #expect(decide(low, high, pauses: JobPauses(all: true), next: 70) == wait(until: 70))
    #expect(decide(low, high, holds: [2: .busy]) == .claim(low, isProbe: false))
    #expect(decide(low, high, holds: [2: .until(time(60))]) == .claim(low, isProbe: false))
  }

  @Test func `with nobody ready it waits for the first time that matters`() {
    #expect(decide() == wait(until: nil))
    #expect(decide(next: 60) == wait(until: 60))
    let (job, gates) = (head(1, "a", 10), ["a": gate(until: 80)] as [ExactText: GateLife])
    #expect(decide(job, gates: gates, next: 90) == wait(until: 80))
    #expect(decide(job, gates: gates, next: 70) == wait(until: 70))
    #expect(decide(job, holds: [1: .busy]) == wait(until: nil))
    #expect(decide(job, next: 90, holds: [1: .until(time(60))]) == wait(until: 60, paced: 60))
    #expect(decide(job, next: 55, holds: [1: .until(time(60))]) == wait(until: 55, paced: 60))
  }

  @Test func `a gate holds its own service only, and lets one probe pass in time`() {
    let gates: [ExactText: GateLife] = ["a": gate(until: 80)]
    let (a, b) = (head(1, "a", 10), head(2, "b", 20))
    #expect(decide(a, b, gates: gates) == .claim(b, isProbe: false))
    #expect(decide(a, b, gates: gates, now: 80) == .claim(a, isProbe: true))
    #expect(decide(a, gates: ["a": gate(until: 20, probe: 9)]) == wait(until: nil))
  }
}

@Suite("Decision: buckets of tokens")
struct TokenBucketTests {
  private let rate = JobRate(1, per: .seconds(2), burst: 3)
  private func time(_ seconds: Int64) -> WallTime { WallTime(milliseconds: seconds * 1000) }

  @Test func `as many as the burst go at once, and then one in each interval`() {
    var bucket = TokenBucket(fullAt: .min)
    #expect(bucket.tokens(rate, at: time(10)) == 3)
    for left in [2, 1, 0] {
      bucket = bucket.taken(rate, at: time(10))
      #expect(bucket.tokens(rate, at: time(10)) == left)
    }
    #expect(bucket.time(of: 1, rate, at: time(10)) == time(12))
    #expect(bucket.time(of: 3, rate, at: time(10)) == time(16))
    #expect(bucket.tokens(rate, at: WallTime(milliseconds: 11_999)) == 0)
    #expect(bucket.tokens(rate, at: time(12)) == 1)
    #expect(bucket.tokens(rate, at: time(100)) == 3)
    // There is no debt.
    #expect(bucket.taken(rate, at: time(10)) == bucket)
    for tokens in [1, 2, 3, 3] {
      bucket = bucket.returned(rate, at: time(10))
      #expect(bucket.tokens(rate, at: time(10)) == tokens)
    }
  }

  @Test
  func `a clock that is set back, or a smaller bucket, makes no wait longer than for a whole one`()
  {
    var bucket = TokenBucket(fullAt: .min)
    for _ in 0..<3 { bucket = bucket.taken(rate, at: time(1_000_000)) }
    #expect(bucket.time(of: 1, rate, at: time(10)) == time(12))
    #expect(bucket.time(of: 3, rate, at: time(10)) == time(16))
  }

  @Test func `a rate beyond all reason is cut, and what no microsecond holds is rounded up`() {
    let rate = JobRate(1, per: .seconds(86_400), burst: .max)
    #expect(rate.burst == 365)
    var bucket = TokenBucket(fullAt: .max)
    #expect(bucket.tokens(rate, at: time(10)) == 0)
    bucket = TokenBucket(fullAt: .min)
    let end = WallTime(notAfter: .seconds(Int64.max))
    for _ in 0..<400 { bucket = bucket.taken(rate, at: end) }
    #expect(bucket.tokens(rate, at: end) == 0)
    #expect(JobRate(3, per: .seconds(1)).interval == .microseconds(333_334))
    #expect(JobRate(1, per: .microseconds(1), burst: .max).burst == 365 * 86_400_000_000)
  }

  @Test func `a rate of many in a short while keeps its fractions`() {
    let rate = JobRate(3, per: .seconds(1), burst: 1)
    var (bucket, count) = (TokenBucket(fullAt: .min), 0)
    for millisecond in Int64(0)..<10_000 {
      let now = WallTime(milliseconds: millisecond)
      guard bucket.tokens(rate, at: now) > 0 else { continue }
      bucket = bucket.taken(rate, at: now)
      count += 1
    }
    // Each start is rounded up to a whole millisecond.
    #expect((29...30).contains(count))
  }
}
