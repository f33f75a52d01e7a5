import Foundation

/// How long this run's rehearsals are: seeds, kills, points of failure.
///
/// `script/test --all` sets `TERN_LONG` to 100 and runs them whole. CI has so much time and no more,
/// on whatever machine, and runs as many percent of each as `TERN_LONG` says, the same each time.
/// Everything else runs a small part of each, another one each time, which `TERN_SEED` repeats.
package enum Rehearsal {
  package static let isLong = variable("TERN_LONG") != nil
  package static let isWhole = percent == 100

  /// Of a long rehearsal how much is run.
  private static let percent: Int = {
    guard let text = variable("TERN_LONG") else { return 100 }
    guard let percent = Int(text), (1...100).contains(percent) else {
      fatalError("TERN_LONG is a number of percent from 1 to 100, and not “\(text)”")
    }
    return percent
  }()

  /// What the short forms begin with.
  package static let seed: UInt64 = {
    guard let text = variable("TERN_SEED") else {
      let drawn = UInt64.random(in: 1...999_999)
      print("rehearsals are short; TERN_SEED=\(drawn) repeats them")
      return drawn
    }
    guard let seed = UInt64(text) else { fatalError("TERN_SEED is a number, and not “\(text)”") }
    return seed
  }()

  /// Seeds of worlds: the first of `long`, or `count` that no other run is likely to have.
  package static func seeds(_ long: ClosedRange<UInt64>, short count: UInt64) -> ClosedRange<UInt64>
  {
    if isLong {
      let part = max(count, UInt64(long.count) * UInt64(percent) / 100)
      return long.lowerBound...(long.lowerBound + part - 1)
    }
    let first = 1 + seed &* 1000 % 1_000_000_000
    return first...(first + count - 1)
  }

  /// Where to look for a planted bug: from the seed on that the tables of `Docs/Testing.md` have for
  /// it, and then among those before it.
  package static func seeds(_ all: ClosedRange<UInt64>, catching bug: String) throws -> [UInt64] {
    let root = URL(filePath: #filePath).appending(path: "../../..").standardized
    let text = try String(contentsOf: root.appending(path: "Docs/Testing.md"), encoding: .utf8)
    let row = text.split(separator: "\n").first { $0.hasPrefix("| `\(bug)` |") }
    let known = row?.split(separator: "|").last.flatMap { UInt64($0.filter { $0 != " " }) }
    let first = known.flatMap { all.contains($0) ? $0 : nil } ?? all.lowerBound
    return Array(first...all.upperBound) + Array(all.lowerBound..<first)
  }

  package static func count(_ long: Int, short: Int) -> Int {
    isLong ? max(short, long * percent / 100) : short
  }

  /// One of how many a rehearsal takes.
  package static func step(short: Int) -> Int { isLong ? min(short, 100 / percent) : short }

  /// Whether a long rehearsal takes what is at that place: as many as it has percent, evenly.
  package static func takes(_ place: Int) -> Bool { place * percent % 100 < percent }

  /// A line of a table of how often something was reached and killed.
  package static func row(_ name: String, _ reached: String, _ killed: String) -> String {
    name.padding(toLength: 28, withPad: " ", startingAt: 0)
      + String(repeating: " ", count: max(0, 8 - reached.count)) + reached
      + String(repeating: " ", count: max(0, 8 - killed.count)) + killed
  }

  private static func variable(_ name: String) -> String? {
    ProcessInfo.processInfo.environment[name].flatMap { $0.isEmpty ? nil : $0 }
  }
}

extension Collection {
  /// All of it, or, in a short rehearsal, one of each `stride` elements.
  package func rehearsed(oneOf stride: Int) -> [Element] {
    if Rehearsal.isLong {
      return enumerated().filter { Rehearsal.takes($0.offset) }.map(\.element)
    }
    // Never none, which would pass.
    let first = Int(Rehearsal.seed % UInt64(Swift.max(1, Swift.min(stride, count))))
    return enumerated().filter { $0.offset % stride == first }.map(\.element)
  }
}
