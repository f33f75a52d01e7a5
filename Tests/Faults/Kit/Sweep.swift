import Dispatch
import Foundation
import Rehearsals
import Synchronization

/// A scenario whose program's type is of no interest.
protocol Sweepable: Sendable {
  var name: String { get }
  /// Tries every fault at every operation until a run is untouched; in a short rehearsal at one of each
  /// few operations.
  func sweep(_ faults: [Fault]) throws -> SweepTally
  /// Tries one fault at one operation.
  func perform(_ fault: Fault, at number: Int, seed: UInt64) throws -> Bool
}

struct SweepTally: Sendable {
  /// How many operations were hit, by fault.
  var tried: [Fault: Int] = [:]
  var runs = 0
  /// What to repeat, and what was wrong.
  var failures: [String] = []

  mutating func add(_ other: SweepTally) {
    tried.merge(other.tried) { $1 }
    runs += other.runs
    failures += other.failures
  }

  var summary: String {
    Fault.allCases.compactMap { fault in tried[fault].map { "\(fault.rawValue) \($0)" } }
      .joined(separator: ", ")
  }
}

extension Scenario: Sweepable {
  /// No scenario has so many operations; one that does not end is a fault of its own.
  private static var numberLimit: Int { 2000 }

  /// Which operations are hit: as many as a long rehearsal takes, or in a short one the first and then
  /// one of 53, others for each fault, since they meet different steps.
  private static func numbers(for fault: Fault) -> some Sequence<Int> {
    if Rehearsal.isLong { return (1...numberLimit).filter { Rehearsal.takes($0 - 1) } }
    let place = UInt64(Fault.allCases.firstIndex(of: fault)!)
    let second = 2 + Int((Rehearsal.seed &+ 9 &* place) % 53)
    return [1] + stride(from: second, through: numberLimit, by: 53)
  }

  func sweep(_ faults: [Fault] = Fault.allCases) throws -> SweepTally {
    let untouched = try atFixedTime { try Untouched(self) }
    let tally = Mutex(SweepTally())
    // Two processors are what the smallest machine that runs this has.
    let queue = Mutex(faults[...])
    DispatchQueue.concurrentPerform(iterations: 2) { _ in
      while let fault = queue.withLock({ $0.popFirst() }) {
        let part = atFixedTime { sweep(fault, untouched) }
        tally.withLock { $0.add(part) }
      }
    }
    return tally.withLock { $0 }
  }

  private func sweep(_ fault: Fault, _ untouched: Untouched<Subject>) -> SweepTally {
    var tally = SweepTally(tried: [fault: 0])
    for number in Self.numbers(for: fault) {
      var wasHit = false
      for seed in 0..<UInt64(fault.seedCount) {
        tally.runs += 1
        do {
          wasHit = try FaultRun(untouched: untouched, fault: fault, number: number, seed: seed)
            .perform()
        } catch {
          wasHit = true
          tally.failures.append("\(name):\(fault.rawValue):\(number):\(seed): \(error)")
        }
        if !wasHit { break }
      }
      if !wasHit { return tally }
      tally.tried[fault] = number
    }
    tally.failures.append("\(name):\(fault.rawValue): no run of \(Self.numberLimit) was untouched")
    return tally
  }

  func perform(_ fault: Fault, at number: Int, seed: UInt64) throws -> Bool {
    try atFixedTime {
      try FaultRun(untouched: Untouched(self), fault: fault, number: number, seed: seed).perform()
    }
  }
}
