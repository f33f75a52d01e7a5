import Foundation
import SeededRandom
import TernCore
import Testing

@Suite("Identity: moments in milliseconds")
struct DateMillisecondsTests {
  @Test func `milliseconds that a clock can show are the same again, in the same order`() {
    var generator = SeededGenerator(seed: 5)
    let range = -HybridTime.maximumMilliseconds...HybridTime.maximumMilliseconds
    var drawn = (0..<10_000).map { _ in Int64.random(in: range, using: &generator) }
    drawn += [range.lowerBound, range.upperBound, 0, -1, 1]
    drawn += 1_767_225_600_000..<1_767_225_602_000
    for milliseconds in drawn {
      let date = Date(milliseconds: milliseconds)
      #expect(date.milliseconds == milliseconds)
      #expect(date < Date(milliseconds: milliseconds + 1))
    }
  }

  @Test func `a part of a millisecond is rounded`() {
    #expect(Date(timeIntervalSince1970: 1.000_4).milliseconds == 1000)
    #expect(Date(timeIntervalSince1970: 1.000_6).milliseconds == 1001)
  }

  @Test(arguments: [Int64.max, .min, 1 << 62, -(1 << 62)])
  func `what no clock shows is clamped, so that a time can be added`(_ far: Int64) {
    let clamped = Date(milliseconds: far).milliseconds
    #expect(clamped == (far < 0 ? -Int64.max / 2 : Int64.max / 2))
    #expect(!HybridTime.believedMilliseconds.contains(clamped))
  }

  @Test(arguments: [Double.nan, .infinity, -.infinity, .greatestFiniteMagnitude])
  func `what is no moment is none that a clock can be believed to show`(_ seconds: Double) {
    let milliseconds = Date(timeIntervalSince1970: seconds).milliseconds
    #expect(!HybridTime.believedMilliseconds.contains(milliseconds))
  }
}
