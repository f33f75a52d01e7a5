#if Server && Rehearsal
import TernTesting

/// A device's wall clock: wrong by an offset, and jumping.
final class SimulatedWall: @unchecked Sendable {
  // Sendable, because only the seeded executor's one thread ever touches it.
  private let clock: VirtualClock
  private var offset: Int64

  init(clock: VirtualClock, offset: Int64) {
    self.clock = clock
    self.offset = offset
  }

  var milliseconds: Int64 { SimulatedServer.epochMilliseconds + clock.milliseconds + offset }
  /// Since 1970, to the nanosecond.
  var now: Duration {
    .milliseconds(SimulatedServer.epochMilliseconds + offset) + clock.now.offset
  }
  func jump(_ milliseconds: Int64) { offset += milliseconds }
}

/// A generator behind a reference, for closures.
final class SharedGenerator: @unchecked Sendable {
  // Sendable, because only the seeded executor's one thread ever touches it.
  private var generator: SeededGenerator

  init(_ generator: SeededGenerator) { self.generator = generator }
  func fraction() -> Double { .random(in: 0...1, using: &generator) }
  func next() -> UInt64 { generator.next() }
}
#endif
