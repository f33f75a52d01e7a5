#if os(Linux) || os(macOS)
import CrashKit
import Foundation
import GRDB
@_spi(Rehearsal) import Tern

struct Device {
  /// So that a device whom nobody stops ends.
  static let writeCountMax = 20_000

  private let arguments: DeviceArguments
  private let pool: DatabasePool
  private let replica: Replica
  private let engine: SyncEngine

  init(_ arguments: DeviceArguments) async throws {
    self.arguments = arguments
    pool = try DatabasePool(path: arguments.database)
    let replica = try await Replica.open(
      pool, schema: Library.schema(arguments.migrations),
      migrator: Library.migrator(arguments.migrations), durability: arguments.durability)
    self.replica = replica
    guard let url = URL(string: arguments.url) else { throw URLError(.badURL) }
    engine = SyncEngine(
      store: replica.store,
      remote: TellingRemote(
        base: HTTPRemote(url, space: "home", token: { [arguments] in arguments.token }),
        say: { Self.say(.stored(replica: "\($0)", sequence: $1)) }),
      environment: SyncEnvironment(
        backoff: Backoff(base: .milliseconds(20), limit: .milliseconds(200)),
        localWrites: { replica.localWrites.stream() }, pollInterval: .milliseconds(50)))
  }

  func run() async throws {
    let done = try await pool.read { try Library.done($0) }
    Self.say(.started(done: done))
    try await withThrowingTaskGroup { group in
      group.addTask { await engine.run() }
      try await write(after: done)
      try await tellWhatIsReached()
      group.cancelAll()
    }
    try pool.close()
  }

  /// Writes until it is told to stop.
  private func write(after done: Int) async throws {
    var number = done
    while number < Self.writeCountMax, !isOver,
      !FileManager.default.fileExists(atPath: arguments.stopFile)
    {
      number += 1
      let write = Write(number, device: arguments.name, seed: arguments.seed)
      if write.isSealing {
        try await replica.write { db in try write.perform(db) }
      } else {
        try await pool.write { db in
          try write.perform(db)
          try CrashPoint.reach(.captureBeforeCommit)
        }
        try CrashPoint.reach(.captureAfterCommit)
      }
      Self.say(.acknowledged(number))
      // Now and then the engine gets to seal several transactions at once.
      // real time: a process that is killed at any moment has no other.
      let rest = arguments.pause + (number % 8 == 0 ? number % 5 * 4 : 0)
      if rest > 0 { try await Task.sleep(for: .milliseconds(rest)) }
    }
  }

  /// Says what it has whenever that has changed, once all of its own is sealed.
  private func tellWhatIsReached() async throws {
    var last = ""
    while !isOver {
      if try replica.store.counts().unsealedChanges == 0 {
        let vector = try replica.store.versionVector().sorted
        let text = vector.map { "\($0.replica):\($0.sequence)" }.joined(separator: ",")
        if text != last { Self.say(.reached(vector: text)) }
        last = text
      }
      // real time: what was pulled or sealed is announced by another thread, and seen by looking.
      try await Task.sleep(for: .milliseconds(10))
    }
  }

  /// Whether standard input has ended, by the fleet's word or its death.
  private var isOver: Bool {
    var descriptor = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
    return poll(&descriptor, 1, 0) > 0
  }

  private static func say(_ line: DeviceLine) {
    // One write(2), so that a line is in the pipe whole or not at all.
    let bytes = Array((line.text + "\n").utf8)
    guard Foundation.write(STDOUT_FILENO, bytes, bytes.count) == bytes.count else { exit(1) }
  }
}
#endif
