import Foundation
import TernCore
import TernDatabase
import TernNetwork

/// What an engine takes from outside, so that a test can own it: clock, randomness and the thread
/// that blocks on SQLite. Whoever names nothing gets the system's.
public struct SyncEnvironment: Sendable {
  /// By which the engine waits: after a failure, and between two looks for other processes' writes.
  public var clock: any Clock<Duration>
  /// The time since 1970, for people alone: nothing is decided by it.
  public var wallClock: @Sendable () -> Duration
  /// How long the engine waits after one failure, and after each that follows it.
  public var backoff: Backoff
  /// Draws a number from 0 to 1: the part of a wait that is waited.
  public var jitter: @Sendable () -> Double
  /// Tells of the network's changes. With each a wait after a failure ends, as far as the remote
  /// did not ask to be left alone, and the event stream begins anew.
  public var network: any NetworkPathSource
  /// Yields when something was written here.
  package var localWrites: @Sendable () -> AsyncStream<Void> = { AsyncStream { $0.finish() } }
  /// Called when operations were merged here, which other remotes of the replica may lack: to let
  /// ``localWrites`` of their engines yield.
  package var didMerge: @Sendable () -> Void = {}
  /// How often to look for what another process wrote.
  public var pollInterval: Duration
  /// How many bytes of operations go into one push, before compression.
  public var pushBytes: Int
  /// How long a merge keeps the database's write lock before it lets others write, unless one group
  /// of operations takes longer.
  package var mergeLimit = Duration.milliseconds(50)
  /// For how long it lets them.
  package var mergePause = Duration.milliseconds(10)
  /// How long all parts of a snapshot may be that is fetched.
  package var snapshotBytes = SnapshotPart.Limit.snapshotBytes
  /// Where a snapshot's parts wait until all are fetched, so that the next process goes on; `nil`
  /// for a file beside the database, or for a database in memory one that is gone
  /// with this process.
  public var snapshotPath: String?
  /// Where the database is, if it is a file; and how much room there is.
  package var databasePath: String?
  package var freeBytes: @Sendable (String) -> Int? = FreeSpace.bytes
  /// Where the engine runs and its store blocks.
  public var executor: any SerialExecutor

  public init(
    clock: any Clock<Duration> = .continuous,
    // An injected default, as the one below.
    wallClock: @escaping @Sendable () -> Duration = { .seconds(Date().timeIntervalSince1970) },
    backoff: Backoff = Backoff(),
    jitter: @escaping @Sendable () -> Double = { .random(in: 0...1) },
    network: any NetworkPathSource = SystemPath.shared,
    pollInterval: Duration = .seconds(1), pushBytes: Int = 1 << 20, snapshotPath: String? = nil,
    executor: (any SerialExecutor)? = nil
  ) {
    self.clock = clock
    self.wallClock = wallClock
    self.backoff = backoff
    self.jitter = jitter
    self.network = network
    self.pollInterval = pollInterval
    self.pushBytes = pushBytes
    self.snapshotPath = snapshotPath
    self.executor = executor ?? DatabaseExecutor(label: "tern.sync")
  }
}

extension SyncEnvironment {
  /// For an engine over a store alone, which nobody tells of local writes.
  package init(
    clock: any Clock<Duration> = .continuous, backoff: Backoff = Backoff(),
    // An injected default.
    jitter: @escaping @Sendable () -> Double = { .random(in: 0...1) },
    network: any NetworkPathSource = SystemPath.shared,
    localWrites: @escaping @Sendable () -> AsyncStream<Void>,
    didMerge: @escaping @Sendable () -> Void = {}, pollInterval: Duration = .seconds(1),
    executor: (any SerialExecutor)? = nil
  ) {
    self.init(
      clock: clock, backoff: backoff, jitter: jitter, network: network, pollInterval: pollInterval,
      executor: executor)
    self.localWrites = localWrites
    self.didMerge = didMerge
  }

  /// Tells when a merge has gone on for ``mergeLimit``, from when it is first asked on.
  func mergeDeadline() -> () -> Bool { clock.deadline(after: mergeLimit) }
}

extension Clock<Duration> {
  fileprivate func deadline(after limit: Duration) -> () -> Bool {
    var end: Instant?
    return {
      if let end { return now >= end }
      end = now.advanced(by: limit)
      return false
    }
  }
}
