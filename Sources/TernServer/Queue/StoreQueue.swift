#if Server
import Dispatch
import Foundation
import TernCore
import Tracing

/// Runs the store's blocking calls, and what takes a processor for long, on threads of their own,
/// so that neither holds up the tasks of other requests. Spaces take turns. What a token's request
/// takes of a processor is counted, see ``ProcessorAccounts``.
struct StoreQueue: Sendable {
  /// As many at a time as the store's locks let through, and one of a space.
  private let writes: FairLine
  /// Bodies that are unpacked, each until what is in it is written: so memory holds a few, and a
  /// space has half of the processors at most.
  private let bodies: FairLine
  /// Pages and parts that are read and packed.
  private let pages: FairLine
  /// Snapshots that are held against what the space has: one at a time, while all else goes on.
  private let checks: FairLine
  /// Short looks, which wait for nothing.
  private let reads = DispatchQueue(label: "tern.server.reads", attributes: .concurrent)
  /// After so long in the queue a write is not tried: another process has the file's lock, for
  /// which the ones before have waited, and this one's client would leave before its own
  /// wait is over.
  private static let patience = Duration.seconds(10)
  private let now: @Sendable () -> ContinuousClock.Instant
  /// Who is told of each turn.
  private let tracer: any Tracer

  /// - Parameters:
  ///   - writesAtOnce: see ``SpaceStore/concurrentUpdates``.
  ///   - waitingPerSpace: in each of the four lines.
  init(
    writesAtOnce: Int = 1, waitingPerSpace: Int, tracer: any Tracer = NoOpTracer(),
    now: @escaping @Sendable () -> ContinuousClock.Instant = { ContinuousClock.now }
  ) {
    (self.now, self.tracer) = (now, tracer)
    // An unpacked body takes up to about 100 MiB.
    let processors = min(max(2, ProcessInfo.processInfo.activeProcessorCount), 8)
    writes = FairLine(
      "tern.server.writes", atOnce: writesAtOnce, perSpace: 1, waitingPerSpace: waitingPerSpace)
    bodies = FairLine(
      "tern.server.bodies", atOnce: processors, perSpace: processors / 2,
      waitingPerSpace: waitingPerSpace)
    // Fewer than the store has readers, so that a short look finds one.
    pages = FairLine(
      "tern.server.pages", atOnce: min(processors, 4), perSpace: min(processors, 4) / 2,
      waitingPerSpace: waitingPerSpace)
    checks = FairLine(
      "tern.server.checks", atOnce: 1, perSpace: 1, waitingPerSpace: waitingPerSpace)
  }

  /// How many have what they write, and wait for their turn.
  var waitingWrites: Int { writes.waitingCount }

  /// How many wait for their turn, by what they wait for.
  var waiting: [String: Int] {
    [
      "writes": writes.waitingCount, "bodies": bodies.waitingCount, "pages": pages.waitingCount,
      "checks": checks.waitingCount,
    ]
  }

  /// How many have a body that is not unpacked.
  var waitingBodies: Int { bodies.waitingCount }

  /// - Throws: ``RemoteError`` with `unavailable`, and `CancellationError`, without having tried;
  ///   the work's errors.
  func write<Value: Sendable>(
    to space: SpaceName, _ work: @escaping @Sendable () throws -> Value
  ) async throws -> Value {
    try await write(to: space, until: now() + Self.patience, work)
  }

  /// Makes of a body what is to be written, beside the queue of writes, and then writes it.
  ///
  /// - Throws: As ``write(to:_:)`` does, and ``TooManyRequests`` without having tried.
  func write<Content: Sendable, Value: Sendable>(
    to space: SpaceName, unpacking unpack: @escaping @Sendable () throws -> Content,
    _ work: @escaping @Sendable (Content) throws -> Value
  ) async throws -> Value {
    let end = now() + Self.patience
    return try await bodies.turn(of: space) { thread in
      guard now() <= end else { throw Self.busy }
      try ProcessorAccounts.current?.check()
      let content = try await traced("unpack") { try await Self.run(on: thread, unpack) }
      return try await write(to: space, until: end) { try work(content) }
    }
  }

  private func write<Value: Sendable>(
    to space: SpaceName, until end: ContinuousClock.Instant,
    _ work: @escaping @Sendable () throws -> Value
  ) async throws -> Value {
    try await writes.turn(of: space) { thread in
      guard now() <= end else { throw Self.busy }
      return try await traced("store write") { try await Self.run(on: thread, work) }
    }
  }

  /// Reads and packs what may be long.
  ///
  /// - Throws: ``RemoteError`` with `unavailable`, ``TooManyRequests``, and `CancellationError`,
  ///   without having tried; the work's errors.
  func page<Value: Sendable>(
    of space: SpaceName, _ work: @escaping @Sendable () throws -> Value
  ) async throws -> Value {
    try await page(of: space) {
      try ProcessorAccounts.current?.check()
    } reading: {
      try work()
    }
  }

  /// - Parameter begin: called when it is the space's turn, in place of a look at what the token
  ///   may. What it returns is for `work`.
  func page<Beginning: Sendable, Value: Sendable>(
    of space: SpaceName, beginning begin: () throws -> Beginning,
    reading work: @escaping @Sendable (Beginning) throws -> Value
  ) async throws -> Value {
    try await pages.turn(of: space) { thread in
      let beginning = try begin()
      return try await traced("store page") {
        try await Self.run(on: thread) { try work(beginning) }
      }
    }
  }

  /// Checks what was offered, which is long, and writes what came of it.
  ///
  /// - Throws: As ``page(of:_:)`` does.
  func check<Value: Sendable>(
    of space: SpaceName, _ work: @escaping @Sendable () throws -> Value
  ) async throws -> Value {
    try await checks.turn(of: space) { thread in
      try ProcessorAccounts.current?.check()
      return try await traced("store check") { try await Self.run(on: thread, work) }
    }
  }

  /// Takes a short look, also for whom nobody knows yet.
  func read<Value: Sendable>(
    _ work: @escaping @Sendable () throws -> Value
  ) async throws -> Value {
    // Of those that nobody asked for there is one every second.
    guard ServiceContext.current != nil else { return try await Self.run(on: reads, work) }
    return try await traced("store read") { try await Self.run(on: reads, work) }
  }

  /// Without the wait for a turn, which is what a request's span has more.
  private func traced<Value>(
    _ name: String, _ work: () async throws -> Value
  ) async throws -> Value {
    try await tracer.withAnySpan(name, ofKind: .internal) { _ in try await work() }
  }

  private static func run<Value: Sendable>(
    on queue: DispatchQueue, _ work: @escaping @Sendable () throws -> Value
  ) async throws -> Value {
    let account = ProcessorAccounts.current
    return try await withCheckedThrowingContinuation { continuation in
      queue.async {
        continuation.resume(
          with: Result {
            guard let account else { return try work() }
            return try account.measuring(work)
          })
      }
    }
  }

  private static var busy: RemoteError {
    RemoteError(
      .unavailable, "the server's store is being written to for a while; try again",
      retryAfter: .seconds(5))
  }
}
#endif
