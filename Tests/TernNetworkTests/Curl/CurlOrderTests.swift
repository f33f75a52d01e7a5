#if os(Linux)
import CCurl
import TernTesting
import Testing

@testable import TernNetwork

/// libcurl is played: nothing is connected to, and its answers come in whatever order a seed says.
@Suite("Curl: exchanges of libcurl's, in any order of what can happen")
struct CurlOrderTests {
  @Test("400 seeds: each ends once, whole or as it was told, and nobody waits in vain")
  func seeds() async {
    var ends: [CurlExchange.End: Int] = [:]
    for seed in UInt64(1)...400 {
      do {
        let world = try CurlWorld(seed: seed)
        let result = Result { try world.run() }
        await world.close()
        try result.get()
        for end in world.exchanges.flatMap(\.ends) { ends[end, default: 0] += 1 }
      } catch {
        Issue.record("seed \(seed): \(error)")
        return
      }
    }
    for end: CurlExchange.End in [
      .well, .cancelled, .failed(.connectionLost), .failed(.shutDown),
    ] {
      #expect(ends[end, default: 0] > 30, "\(end) of \(ends)")
    }
  }
}

/// `@unchecked Sendable`: only the seeded executor's one thread touches it.
private final class CurlWorld: @unchecked Sendable {
  private var generator: SeededGenerator
  private let executor: SeededExecutor
  private let clock = VirtualClock()
  /// Its thread is not begun: who turns the loop is this.
  private let driver = CurlDriver(idleConnections: 1)
  private let multi = CurlMulti(idleConnections: 1)
  private var loop: CurlLoop
  private var isClosed = false
  let exchanges: [CurlExchange]

  init(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    executor = SeededExecutor(seed: seed)
    loop = CurlLoop(multi)
    exchanges = try (0..<3).map { _ in
      try CurlExchange(
        bodyCount: Int.random(in: 0...60, using: &generator),
        limitBytes: Int.random(in: 1...12, using: &generator))
    }
    self.generator = generator
  }

  func run() throws {
    for _ in 0..<Int.random(in: 20...150, using: &generator) { try step() }
    for exchange in exchanges where !exchange.isBegun { begin(exchange) }
    for _ in 0..<500 {
      try rest()
      for exchange in exchanges { try exchange.tellNext(&loop, &generator) }
    }
    try rest()
    try OrderViolation.require(exchanges.allSatisfy(\.isOver), "an exchange does not end")
  }

  /// Lets the driver's own thread begin and end, which frees what it has.
  func close() async {
    loop.endAll()
    multi.destroy()
    driver.close()
    driver.launch()
    await driver.closeAndWait()
  }

  private func step() throws {
    let exchange = exchanges.randomElement(using: &generator)!
    switch Int.random(in: 0..<200, using: &generator) {
    case 0..<90: try exchange.tellNext(&loop, &generator)
    case 90..<140: go(Int.random(in: 1...4, using: &generator))
    case 140..<170: perform()
    case 170..<180: try rest()
    case 180..<196: if !exchange.isBegun { begin(exchange) }
    case 196..<199: if exchange.isBegun { exchange.cancel() }
    default: if generator.oneIn(4) { driver.close() }
    }
    for exchange in exchanges { try exchange.check() }
  }

  private func begin(_ exchange: CurlExchange) {
    if generator.oneIn(20) { return exchange.beginTooLate(driver) }
    exchange.begin(driver, on: executor, pauses: Int.random(in: 0...6, using: &generator))
  }

  /// What the driver's thread does with its inbox, once.
  ///
  /// - Returns: whether there was anything.
  @discardableResult
  private func perform() -> Bool {
    if isClosed { return false }
    let (commands, isLast) = driver.take()
    for command in commands {
      if case .resume(let transfer) = command {
        exchanges.first { $0.transfer === transfer }!.isPaused = false
      }
      loop.perform(command)
    }
    if isLast {
      loop.endAll()
      isClosed = true
    }
    return isLast || !commands.isEmpty
  }

  private func go(_ jobs: Int) {
    var left = jobs
    _ = executor.run(clock) {
      left -= 1
      return left < 0
    }
  }

  private func rest() throws {
    repeat { go(.max) } while perform()
    for exchange in exchanges { try exchange.checkAtRest() }
  }
}
#endif
