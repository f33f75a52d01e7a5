import Synchronization
import TernJobs

/// A piece of work that is under way in virtual time. While it neither sleeps on the clock nor has
/// anything ready it waits for something outside, and virtual time must not pass it by.
final class Activity: Sendable {
  /// Of the task that sleeps or runs; `nil` for what nobody waits for.
  @TaskLocal static var current: Activity?

  /// Which work it is, for people.
  let name: String
  private let sleeps = Mutex(0)

  init(_ name: String) { self.name = name }

  /// Whether it waits for a time. A timer that limits something else does not count.
  var isAsleep: Bool { sleeps.withLock { $0 > 0 } }

  static func asleep<T>(_ body: () async throws -> T) async rethrows -> T {
    guard let current, !AttemptPoint.isTimer else { return try await body() }
    current.sleeps.withLock { $0 += 1 }
    defer { current.sleeps.withLock { $0 -= 1 } }
    return try await body()
  }
}
