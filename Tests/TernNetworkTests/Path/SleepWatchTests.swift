#if os(Linux)
import Foundation
import Synchronization
import TernCore
import Testing

@testable import TernNetwork

@Suite("A machine that slept", .timeLimit(.minutes(1)))
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
    let ends = try #require(pipe())
    let slept = Mutex<UInt64>(1_000_000_000)
    let watch = SleepWatch(ends.read) { slept.withLock { $0 } }
    let monitor = try RouteMonitor(sleep: watch)
    monitor.start()
    defer { monitor.stop() }
    var changes = monitor.relay.changes(keeping: UnknownPathSource()).makeAsyncIterator()
    let before = try #require(await changes.next())
    // Eight bytes are what a timer's descriptor gives.
    #expect(write(ends.write, [UInt8](repeating: 0, count: 8), 8) == 8)
    slept.withLock { $0 += 3_600_000_000_000 }
    #expect(write(ends.write, [UInt8](repeating: 0, count: 8), 8) == 8)
    let after = try #require(await changes.next())
    #expect(after.generation == before.generation + 1)
    #expect(after.hasRoute == before.hasRoute)
    close(ends.write)
  }

  @Test("the system's own watch can be had, and says nothing while nobody sleeps")
  func system() throws {
    let watch = try #require(SleepWatch.system())
    var question = pollfd(fd: watch.descriptor, events: Int16(POLLIN), revents: 0)
    #expect(poll(&question, 1, 0) == 0)
    #expect(watch.sleptNanoseconds < UInt64.max / 2)
  }

  private func pipe() -> (read: Int32, write: Int32)? {
    var ends: [Int32] = [0, 0]
    return Glibc.pipe(&ends) == 0 ? (ends[0], ends[1]) : nil
  }
}
#endif
