#if Server
import Foundation
import GRDB
import Synchronization
import Tern
import TernTesting
import TestDevice
import Testing

/// A remote in memory that fails as long as a test wants.
private final class MoodyRemote: Remote {
  let memory = MemoryRemote()
  var id: String { memory.id }
  private let failure: Mutex<(any Error)?>
  /// What ends each event stream at once; `nil` for nothing.
  private let end: RemoteError?
  let greetings = Mutex(0)
  /// After which each event stream was asked for.
  let cursors = Mutex<[RemoteCursor?]>([])
  /// Yields with each event stream that begins.
  let streams: AsyncStream<Void>
  private let streamBegan: AsyncStream<Void>.Continuation

  init(failing failure: (any Error)? = nil, endingStreamsBy end: RemoteError? = nil) {
    self.failure = Mutex(failure)
    self.end = end
    (streams, streamBegan) = AsyncStream.makeStream()
  }

  func recover() { failure.withLock { $0 = nil } }

  private func check() throws {
    if let failure = failure.withLock({ $0 }) { throw failure }
  }

  func greet(as replica: ReplicaID?) async throws -> RemoteGreeting {
    greetings.withLock { $0 += 1 }
    try check()
    return try await memory.greet()
  }
  func push(_ operations: [SyncOperation]) async throws -> PushReceipt {
    try check()
    return try await memory.push(operations)
  }
  func pull(after cursor: RemoteCursor?, excluding excluded: ReplicaID) async throws -> PulledPage {
    try check()
    return try await memory.pull(after: cursor, excluding: excluded)
  }
  func positions(after cursor: RemoteCursor?) -> AsyncThrowingStream<UInt64, any Error> {
    cursors.withLock { $0.append(cursor) }
    streamBegan.yield()
    if let end { return AsyncThrowingStream { throw end } }
    return memory.positions(after: cursor)
  }
}

/// What a run does before its wait is over, and for those who come while it goes on.
@Suite("Engine: what ends a run's wait", .timeLimit(.minutes(1)))
struct WakeTests {
  private let unreachable = RemoteError(.unreachable, "nobody is there")
  /// Whoever waits for it fails by the suite's time limit.
  private let long = Backoff(base: .seconds(600), limit: .seconds(600))

  private func engine(
    _ phone: Device, _ remote: any Remote, path: any NetworkPathSource = UnknownPathSource(),
    poll: Duration = .seconds(600)
  ) -> SyncEngine {
    SyncEngine(
      phone.replica, remote: remote,
      environment: SyncEnvironment(
        backoff: long, jitter: { 1 }, network: path, pollInterval: poll))
  }

  private func run(_ engine: SyncEngine, _ body: () async throws -> Void) async throws {
    try await withThrowingDiscardingTaskGroup { group in
      group.addTask { await engine.run() }
      try await body()
      group.cancelAll()
    }
  }

  private func wait(
    _ engine: SyncEngine, for matches: @Sendable (SyncStatus.Moment) -> Bool
  ) async {
    await engine.waitForStatus(matches)
  }

  // MARK: - Somebody asks

  @Test func `a sync that is asked for beside a run ends its wait and tells what came of it`()
    async throws
  {
    let remote = MoodyRemote(failing: unreachable)
    let a = try await Device { _ in [remote] }
    try await a.execute("INSERT INTO item VALUES ('1', 'from a', 1)")
    let engine = engine(a, remote)
    try await run(engine) {
      await wait(engine) { $0.phase == .waiting }
      let error = await #expect(throws: RemoteError.self) { try await engine.syncOnce() }
      #expect(error == unreachable)
      remote.recover()
      try await engine.syncOnce()
      #expect(remote.memory.operations.count == 1)
      #expect(engine.status.current.phase == .upToDate)
      // Also while there is nothing to wait for.
      let greetings = remote.greetings.withLock { $0 }
      try await engine.syncOnce()
      #expect(remote.greetings.withLock { $0 } == greetings + 1)
    }
  }

  @Test func `what keeps a run from being up to date is told to who asks`() async throws {
    let remote = MoodyRemote()
    let a = try await Device { _ in [remote] }
    let refusing = RefusingRemote(
      remote: remote.memory, error: RemoteError(.tooLarge, "not that"))
    let engine = engine(a, refusing)
    try await a.execute("INSERT INTO item VALUES ('1', 'refused', 1)")
    try await run(engine) {
      await wait(engine) { $0.phase == .waiting && $0.lastError?.code == .tooLarge }
      let error = await #expect(throws: RemoteError.self) { try await engine.syncOnce() }
      #expect(error?.code == .tooLarge)
    }
  }

  @Test func `a remote that wants to be left alone is, whoever asks`() async throws {
    let busy = RemoteError(.unavailable, "later", retryAfter: .seconds(500))
    let (remote, path) = (MoodyRemote(failing: busy), ScriptedPathSource())
    let a = try await Device { _ in [remote] }
    let engine = engine(a, remote, path: path)
    try await run(engine) {
      await wait(engine) { $0.phase == .waiting }
      path.set(hasRoute: true)
      let error = await #expect(throws: RemoteError.self) { try await engine.syncOnce() }
      #expect(error == busy && remote.greetings.withLock { $0 } == 1)
    }
  }

  @Test func `a server that sends its devices away is left alone as long as it said`() async throws
  {
    let away = RemoteError(.unreachable, "go", retryAfter: .seconds(500))
    let (remote, path) = (MoodyRemote(endingStreamsBy: away), ScriptedPathSource())
    let a = try await Device { _ in [remote] }
    let engine = engine(a, remote, path: path)
    try await run(engine) {
      await wait(engine) { $0.phase == .waiting }
      path.set(hasRoute: true)
      let error = await #expect(throws: RemoteError.self) { try await engine.syncOnce() }
      #expect(error == away && remote.greetings.withLock { $0 } == 1)
    }
  }

  @Test func `INV-03: a stream is asked for after what was pulled, and greets where it is refused`()
    async throws
  {
    let lost = RemoteError(.cursorUnknown, "restored", retryAfter: .zero)
    let remote = MoodyRemote(endingStreamsBy: lost)
    let a = try await Device { _ in [remote] }
    try await a.execute("INSERT INTO item VALUES ('1', 'from a', 1)")
    let engine = SyncEngine(
      a.replica, remote: remote,
      environment: SyncEnvironment(
        backoff: Backoff(base: .milliseconds(1), limit: .milliseconds(1)), jitter: { 1 },
        network: UnknownPathSource(), pollInterval: .seconds(600)))
    try await run(engine) {
      for await _ in remote.streams.prefix(3) {}
      #expect(remote.greetings.withLock { $0 } >= 3)
      let pulled = try await remote.memory.pull(after: nil, excluding: .numbered(99)).cursor
      #expect(remote.cursors.withLock { $0.allSatisfy { $0 == pulled } })
    }
  }

  @Test func `who waits for a turn can be cancelled, and a run that ends lets others go on`()
    async throws
  {
    let remote = MoodyRemote(failing: unreachable)
    let a = try await Device { _ in [remote] }
    let engine = engine(a, remote)
    try await run(engine) {
      await wait(engine) { $0.phase == .waiting }
      // Another run waits for this one's end.
      let second = Task { await engine.run() }
      second.cancel()
      await second.value
      #expect(remote.greetings.withLock { $0 } == 1)
    }
    remote.recover()
    try await engine.syncOnce()
    let cancelled = Task {
      // From outside it could come when all is done.
      withUnsafeCurrentTask { $0?.cancel() }
      try await engine.syncOnce()
    }
    await #expect(throws: CancellationError.self) { try await cancelled.value }
    try await engine.syncOnce()
    #expect(remote.greetings.withLock { $0 } >= 3)
    #expect(engine.status.current.phase == .upToDate)
  }

  @Test func `runs and single syncs in any order all end`() async throws {
    let remote = MoodyRemote()
    let a = try await Device { _ in [remote] }
    let engine = engine(a, remote)
    try await withThrowingDiscardingTaskGroup { group in
      for number in 0..<40 {
        group.addTask {
          if number % 5 == 0 {
            let run = Task { await engine.run() }
            await Task.yield()
            run.cancel()
            await run.value
          } else if number % 5 == 1 {
            let sync = Task { try await engine.syncOnce() }
            sync.cancel()
            // It may have ended before.
            do { try await sync.value } catch is CancellationError {}
          } else {
            try await engine.syncOnce()
          }
        }
      }
    }
    let greetings = remote.greetings.withLock { $0 }
    #expect(greetings > 0)
    try await engine.syncOnce()
    #expect(remote.greetings.withLock { $0 } == greetings + 1)
    #expect(engine.status.current.phase == .upToDate)
  }

  // MARK: - The network

  @Test func `a network that changes ends a wait`() async throws {
    let (remote, path) = (MoodyRemote(failing: unreachable), ScriptedPathSource(hasRoute: false))
    let a = try await Device { _ in [remote] }
    let engine = engine(a, remote, path: path)
    try await run(engine) {
      await wait(engine) { $0.phase == .waiting }
      remote.recover()
      path.set(hasRoute: true)
      await wait(engine) { $0.phase == .upToDate }
    }
  }

  @Test func `an event stream begins anew on another network`() async throws {
    let (remote, path) = (MoodyRemote(), ScriptedPathSource())
    let a = try await Device { _ in [remote] }
    let engine = SyncEngine(
      a.replica, remote: remote,
      environment: SyncEnvironment(
        backoff: Backoff(base: .milliseconds(1), limit: .milliseconds(1)), network: path))
    try await run(engine) {
      var streams = remote.streams.makeAsyncIterator()
      for number in 1...3 {
        #expect(await streams.next() != nil, "stream \(number)")
        await wait(engine) { $0.phase == .upToDate }
        path.set(hasRoute: true)
      }
    }
  }

  // MARK: - Nobody tells

  @Test func `what another process sealed is pushed`() async throws {
    let folder = NSTemporaryDirectory() + "tern-wake-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let remote = MoodyRemote()
    let a = try await Device(path: folder + "/a") { _ in [remote] }
    let engine = engine(a, remote, poll: .milliseconds(20))
    // Another connection, which nothing here observes.
    let other = try await Device(path: folder + "/a") { _ in [] }
    try await run(engine) {
      await wait(engine) { $0.phase == .upToDate }
      try await other.replica.write { db in
        try db.execute(sql: "INSERT INTO item VALUES ('1', 'sealed elsewhere', 1)")
      }
      #expect(try other.replica.store.hasNews() == false)
      await wait(engine) { $0.pushed == 1 }
    }
    #expect(remote.memory.operations.count == 1)
  }

  @Test func `a cancellation of the remote's own is a failure, and not the end`() async throws {
    let remote = MoodyRemote(failing: CancellationError())
    let a = try await Device { _ in [remote] }
    let engine = engine(a, remote)
    try await run(engine) {
      await wait(engine) { $0.phase == .waiting && $0.lastError?.code == .unreachable }
      remote.recover()
      try await engine.syncOnce()
      // Nobody but the run pushes what is written now.
      try await a.execute("INSERT INTO item VALUES ('1', 'from a', 1)")
      await wait(engine) { $0.pushed == 1 }
    }
    #expect(remote.memory.operations.count == 1)
  }

  @Test func `a database that another connection has is tried again soon`() async throws {
    let folder = NSTemporaryDirectory() + "tern-wake-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let remote = MoodyRemote()
    let a = try await Device(path: folder + "/a") { _ in [remote] }
    var configuration = Configuration()
    configuration.allowsUnsafeTransactions = true
    let other = try DatabaseQueue(path: folder + "/a", configuration: configuration)
    let engine = SyncEngine(
      a.replica, remote: remote,
      // What no repetition mends would wait for ten minutes.
      environment: SyncEnvironment(
        backoff: Backoff(base: .milliseconds(20), limit: .seconds(600)), jitter: { 0 }))
    try other.inDatabase { try $0.execute(sql: "BEGIN IMMEDIATE") }
    try await run(engine) {
      await wait(engine) { $0.lastError?.code == .busy }
      try other.inDatabase { try $0.execute(sql: "COMMIT") }
      await wait(engine) { $0.phase == .upToDate && $0.lastError == nil }
      #expect(remote.greetings.withLock { $0 } > 0)
    }
  }

  @Test func `a database that was closed is not asked again and again`() async throws {
    let failures = Mutex(0)
    let a = try await Device { _ in [MoodyRemote()] }
    let engine = SyncEngine(
      a.replica, remote: MoodyRemote(),
      environment: SyncEnvironment(
        backoff: long,
        jitter: {
          failures.withLock { $0 += 1 }
          return 1
        }, pollInterval: .milliseconds(5)))
    try await run(engine) {
      await wait(engine) { $0.phase == .upToDate }
      try a.database.close()
      await wait(engine) { $0.phase == .waiting && $0.lastError?.code == .local }
      // real time: nothing tells of a question that nobody asks. Twenty would come meanwhile.
      try await Task.sleep(for: .milliseconds(100))
    }
    #expect((1..<5).contains(failures.withLock { $0 }))
  }

  @Test func `a token closure that reaches nobody is being offline`() async throws {
    for (error, code) in [
      (URLError(.notConnectedToInternet) as any Error, RemoteError.Code.unreachable),
      (CocoaError(.featureUnsupported), .unauthorized),
    ] {
      let remote = HTTPRemote(
        URL(string: "http://127.0.0.1:1")!, space: "home", token: { throw error })
      let thrown = await #expect(throws: RemoteError.self) { try await remote.greet() }
      #expect(thrown?.code == code)
    }
  }
}
#endif
