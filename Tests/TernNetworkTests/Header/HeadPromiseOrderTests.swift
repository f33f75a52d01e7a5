import TernTesting
import Testing

@testable import TernNetwork

@Suite("Header: the head of an answer, in any order of what can happen")
struct HeadPromiseOrderTests {
  @Test("500 seeds: the first that is told is heard, once, by whoever waits before or after it")
  func seeds() {
    var orders: Set<String> = []
    for seed in UInt64(1)...500 {
      do {
        orders.insert(try HeadWorld(seed: seed).run())
      } catch {
        Issue.record("seed \(seed): \(error)")
        return
      }
    }
    #expect(orders == ["told first", "told as it started", "told later"])
  }
}

/// `@unchecked Sendable`: only the seeded executor's one thread touches it.
private final class HeadWorld: @unchecked Sendable {
  private enum Heard: Hashable {
    case status(Int)
    case failure(Int)
  }
  private struct Broken: Error { let number: Int }

  private var generator: SeededGenerator
  private let executor: SeededExecutor
  private let clock = VirtualClock()
  private let promise = HeadPromise()
  private let tellsAsItStarts: Bool
  private var isAsked = false
  private var isWaiting = false
  private var starts = 0
  private var first: Heard?
  private var heard: [Heard] = []
  private var calls = 0
  private var order = "told later"
  private var violation: (any Error)?

  init(seed: UInt64) {
    generator = SeededGenerator(seed: seed)
    executor = SeededExecutor(seed: seed)
    tellsAsItStarts = generator.oneIn(4)
  }

  /// - Returns: when the answer was known.
  func run() throws -> String {
    for _ in 0..<Int.random(in: 2...12, using: &generator) {
      switch Int.random(in: 0..<6, using: &generator) {
      case 0: ask()
      case 1: tell()
      default: try go(1)
      }
    }
    ask()
    if generator.oneIn(2) { try go(.max) }
    tell()
    try go(.max)
    try OrderViolation.require(heard == first.map { [$0] }, "\(heard) was heard of \(first!)")
    return order
  }

  private func ask() {
    if isAsked { return }
    isAsked = true
    Task(executorPreference: executor) { [self] in
      isWaiting = true
      do {
        let head = try await promise.wait {
          starts += 1
          if first != nil { violation = OrderViolation("it was started, and the answer is known") }
          guard tellsAsItStarts else { return }
          order = "told as it started"
          tell()
        }
        heard.append(.status(head.status))
      } catch {
        heard.append(.failure((error as? Broken)?.number ?? -1))
      }
      isWaiting = false
      if starts == 0 { order = "told first" }
    }
  }

  private func tell() {
    calls += 1
    let isGood = generator.oneIn(2)
    let isFirst = promise.fulfil(
      isGood
        ? .success(ResponseHead(status: calls, headers: [:])) : .failure(Broken(number: calls)))
    if isFirst != (first == nil) {
      violation = OrderViolation("call \(calls) is said to be the first: \(isFirst)")
    }
    first = first ?? (isGood ? .status(calls) : .failure(calls))
  }

  private func go(_ jobs: Int) throws {
    var left = jobs
    let isAtRest = !executor.run(clock) {
      left -= 1
      return left < 0
    }
    if let violation { throw violation }
    guard isAtRest, isWaiting else { return }
    try OrderViolation.require(first == nil, "somebody waits for what is known")
    try OrderViolation.require(starts == 1, "it was started \(starts) times")
  }
}
