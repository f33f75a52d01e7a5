import SeededRandom
import TernCore
import Testing

@Suite("Identity: hybrid times")
struct HybridTimeTests {
  @Test func `the next time is after the last and not before the wall (INV-11)`() {
    var generator = SeededGenerator(seed: 3)
    var time = HybridTime.zero
    var wall: Int64 = 1_700_000_000_000
    for _ in 0..<10_000 {
      wall += Int64.random(in: -5000...5000, using: &generator)
      let next = time.next(atMilliseconds: wall)
      #expect(next > time)
      #expect(next >= HybridTime(milliseconds: wall))
      time = next
    }
  }

  @Test func `a full counter moves the milliseconds ahead`() {
    let full = HybridTime(rawValue: HybridTime(milliseconds: 7).rawValue | 0xFFFF)
    #expect(full.next(atMilliseconds: 0) == HybridTime(milliseconds: 8))
  }

  @Test(arguments: [Int64.min, -1, 0, 1 << 48, .max])
  func `a wall clock out of range is clamped`(_ wall: Int64) {
    let next = HybridTime.zero.next(atMilliseconds: wall)
    #expect(next > .zero)
    #expect((0...HybridTime.maximumMilliseconds).contains(next.milliseconds))
  }

  @Test func `the last time of all has no next one, and does not trap`() {
    let last = HybridTime(rawValue: .max)
    #expect(last.next(atMilliseconds: 0) == last)
  }
}
