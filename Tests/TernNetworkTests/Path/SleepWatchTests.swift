#if os(Linux)
import Foundation
import Synchronization
import TernCore
import Testing

@testable import TernNetwork

@Suite("Path: a machine that slept", .timeLimit(.minutes(1)))
struct SleepWatchTests {
  @Test("a sleep is noted once, and a short one not at all")
  func meter() {
    var meter = SleepMeter(5_000_000_000)
    let notes = [5_000_000_000, 5_999_999_999, 6_000_000_000, 6_000_000_000, 99_000_000_000].map {
      meter.note($0)
    }
    #expect(notes == [false, false, true, false, true])
  }

  @Test("waking up is a change of the path, and setting the clock is none")
  func wake() async throws {
    let (set, woken) = (try Machine(), try Machine())
    defer { for machine in [set, woken] { machine.end() } }
    let paths = (set.monitor.relay.path, woken.monitor.relay.path)
    var changes = woken.monitor.relay.changes(keeping: UnknownPathSource()).makeAsyncIterator()
    #expect(await changes.next() == paths.1)
    // The one clock is set first, so that its change, if it were one, would be told of first too.
    try set.jump()
    await set.slept.wasAskedAgain.wait()
    woken.slept.nanoseconds.withLock { $0 += 3_600_000_000_000 }
    try woken.jump()
    let after = try #require(await changes.next())
    #expect(after.generation == paths.1.generation + 1)
    #expect(after.hasRoute == paths.1.hasRoute)
    #expect(set.monitor.relay.path == paths.0)
  }

  @Test("the system's own watch can be had, and says nothing while nobody sleeps")
  func system() throws {
    let watch = try #require(SleepWatch.system())
    var question = pollfd(fd: watch.descriptor, events: Int16(POLLIN), revents: 0)
    #expect(poll(&question, 1, 0) == 0)
    #expect(watch.sleptNanoseconds < UInt64.max / 2)
  }

  private final class Slept: Sendable {
    let nanoseconds = Mutex<UInt64>(1_000_000_000)
    /// Since the monitor was made.
    let wasAskedAgain = Signal()
    private let questionCount = Mutex(0)

    func answer() -> UInt64 {
      let count = questionCount.withLock { count in
        count += 1
        return count
      }
      if count == 2 { wasAskedAgain.fire() }
      return nanoseconds.withLock { $0 }
    }
  }

  /// One whose clock jumps, and which has slept, when the test says so.
  private struct Machine {
    let slept = Slept()
    let monitor: RouteMonitor
    private let writing: Int32

    init() throws {
      var ends: [Int32] = [0, 0]
      try #require(pipe(&ends) == 0)
      writing = ends[1]
      monitor = try RouteMonitor(sleep: SleepWatch(ends[0]) { [slept] in slept.answer() })
      monitor.start()
    }

    func jump() throws {
      // Eight bytes are what a timer's descriptor gives.
      try #require(write(writing, [UInt8](repeating: 0, count: 8), 8) == 8)
    }

    func end() {
      monitor.stop()
      close(writing)
    }
  }
}
#endif
