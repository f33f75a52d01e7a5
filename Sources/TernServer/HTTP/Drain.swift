#if Server
import ServiceLifecycle
import TernCore

/// The first part of a graceful shutdown, in which the server still answers: a load balancer learns
/// that it goes, and its event streams end one after the other. Otherwise all of their devices
/// would come back at one moment, to the processes that are left.
///
/// The last service of its group, which so ends before the others are told to.
struct Drain: Service {
  let board: HeadBoard
  let ready: ReadyCheck
  /// How long a load balancer has.
  let delay: Duration
  /// How long all event streams have, where they are so many.
  let streamTime: Duration
  /// From 0 to 1.
  let random: @Sendable () -> Double

  /// Fewer streams end sooner than in ``streamTime``.
  private static let streamsPerSecond = 200
  /// How long a device waits at least, and how much longer at most.
  private static let returnDelay = (least: Duration.milliseconds(500), spread: Duration.seconds(2))

  /// - Throws: `CancellationError`, where there is no more time.
  func run() async throws {
    try await gracefulShutdown()
    ready.drain()
    try await wait(delay)
    let streams = board.close()
    guard !streams.isEmpty else { return }
    let step = min(streamTime / streams.count, .seconds(1) / Self.streamsPerSecond)
    for end in streams {
      end(Self.returnDelay.least + Self.returnDelay.spread * random())
      try await wait(step)
    }
  }

  private func wait(_ time: Duration) async throws {
    guard time > .zero else { return }
    // An injected default: a simulation's server has no connections.
    try await Task.sleep(for: time)
  }
}
#endif
