#if Server && Rehearsal
import Foundation
import GRDB
import Tern
import TernDatabase
import TernJobs
import TernNetwork
import TernTesting

/// One life of a process: a connection of its own, a queue, users that enqueue, and a worker. After
/// its death nothing of it reaches the disk any more.
final class JobProcess: @unchecked Sendable {
  // Sendable, because only the seeded executor's one thread ever touches it.
  @TaskLocal static var current: JobProcess?

  let world: JobWorld
  let number: Int
  /// Of which no other of its world has the number.
  let life: Int
  let database: DatabaseQueue
  let queue: JobQueue
  /// As an app makes it.
  let network: any HTTPTransport
  /// What this version of the app has handlers for.
  let kinds: Set<String>
  /// Whether this version of the app stores results as text.
  let storesText: Bool
  private let watch: CommitWatch
  private let disk: CrashedDisk
  var generator: SeededGenerator
  /// What its open transaction does.
  var draft: JobDraft {
    get { watch.draft }
    set { watch.draft = newValue }
  }
  /// Which run of a worker is the newest of this process.
  private(set) var run = 0
  /// That run was cancelled.
  private(set) var isCancelled = false
  private(set) var isDead = false
  private var isClosing = false
  private var users: [Task<Void, any Error>] = []
  /// Handlers that do not return before their worker is told to end.
  private var hanging: [CheckedContinuation<Void, Never>] = []
  private var worker: Task<Void, any Error>?

  init(_ world: JobWorld, _ number: Int) throws {
    self.world = world
    self.number = number
    world.lives += 1
    life = world.lives
    var generator = SeededGenerator(seed: world.nextSeed())
    var configuration = Configuration()
    configuration.journalMode = .wal
    database = try DatabaseQueue(path: world.databasePath, configuration: configuration)
    try database.write { db in
      try db.execute(
        sql: """
          CREATE TABLE IF NOT EXISTS item (job INTEGER PRIMARY KEY, token INTEGER NOT NULL);
          CREATE TABLE IF NOT EXISTS effect (
            job INTEGER NOT NULL, name TEXT NOT NULL, answer INTEGER NOT NULL)
          """)
    }
    let shared = SharedGenerator(SeededGenerator(seed: generator.next()))
    var environment = JobEnvironment(
      clock: world.clock, wallClock: { world.wall.now }, jitter: { shared.fraction() },
      makeID: { shared.next() }, gateDelay: JobWorld.gateDelay, longestGate: JobWorld.longestGate,
      retryBudget: world.plan.budget,
      executor: world.executor, fileExecutor: world.executor)
    environment.watchesFiles = false
    disk = CrashedDisk(files: world.filesPath, shadow: "\(world.folder)/shadow-\(number)")
    let before = disk.sessions()
    queue = try JobQueue.openBlocking(
      database, limits: world.plan.limits, environment: environment)
    disk.session = disk.sessions().subtracting(before).first
    let all = [Scan.name, Upload.name, Translate.name, Index.name]
    let vanishes = world.plan.vanishingHandlers && world.isFaulty
    kinds = Set(all.filter { _ in !(vanishes && generator.oneIn(3)) })
    storesText = world.plan.changingTypes && world.isFaulty && generator.oneIn(3)
    let (began, clock) = (ContinuousClock.now, world.clock)
    let now: @Sendable () -> ContinuousClock.Instant = { began + clock.now.offset }
    network = CheckingTransport(
      over: RedirectingTransport(over: world.network, limit: 10, now: now),
      correcting: world.path, probe: ServerProbe("https://own.example/health"), now: now)
    watch = CommitWatch(world.ledger)
    self.generator = generator
    watch.process = self
    database.add(transactionObserver: watch, extent: .databaseLifetime)
    if !world.isFaulty, world.ledger.pauses != JobPauses() {
      try database.write(queue.resumeEverything)
    }
  }

  // MARK: - Life

  /// Works and lets its users enqueue until it dies or is closed.
  func live() async throws {
    try await Self.$current.withValue(self) {
      for user in 0..<world.plan.userCount {
        users.append(
          Task(executorPreference: world.executor) { try await JobUser(self, user).act() })
      }
      try await work()
      for user in users {
        do { try await user.value } catch is CancellationError {}
      }
    }
  }

  private func work() async throws {
    while !isDead, !isClosing {
      run = world.nextRun()
      isCancelled = false
      world.ledger.timing.runBegan(run, now: world.clock.milliseconds)
      let task = Task(executorPreference: world.executor) {
        let run = self.run
        let worker = JobWorker(
          self.queue, concurrency: self.world.plan.concurrency, path: self.world.path,
          transfers: self.world.transfers.map {
            ProcessTransfers(system: $0, process: self, run: run)
          }
        ) { self.register(&$0) }
        try await worker.run()
      }
      worker = task
      let result = await task.result
      worker = nil
      world.ledger.timing.runEnded(run, now: world.clock.milliseconds)
      if isDead { return }
      if case .failure(let error) = result {
        guard (error as? JobQueueError)?.code == .workerRunning, world.plan.processCount > 1 else {
          return world.ledger.fail(.drains, "the worker of process \(number) ended by \(error)")
        }
        try? await world.clock.sleep(for: .seconds(1))
      }
    }
  }

  /// Ends the worker's run, and nothing else of the process.
  func cancelRun() {
    guard let worker else { return }
    world.trace.note("process \(number): its run is cancelled")
    isCancelled = true
    worker.cancel()
    release()
  }

  /// Takes no notice of anything but the worker's end.
  func hang() async {
    if isDead || isCancelled { return }
    await withCheckedContinuation { hanging.append($0) }
  }

  private func release() {
    let released = hanging
    hanging = []
    for one in released { one.resume() }
  }

  /// The end that an app wishes itself: the run is cancelled, and users go on to their ends.
  func quit() {
    isClosing = true
    cancelRun()
    for user in users { user.cancel() }
  }

  /// Dies here and now: what is not committed is lost, and every file stays as it is.
  func die(_ why: String) throws {
    if isDead { return }
    world.trace.note("process \(number) dies \(why)")
    world.countCrash()
    isDead = true
    try disk.freeze()
    worker?.cancel()
    release()
    for user in users { user.cancel() }
  }

  func checkAlive() throws {
    if isDead { throw CancellationError() }
  }

  /// After ``live()`` has returned.
  func close() throws {
    try database.close()
    if isDead { try disk.thaw() }
  }
}

/// Tells the ledger of every commit of one connection, and lets none pass after the death.
private final class CommitWatch: TransactionObserver {
  private let ledger: JobLedger
  weak var process: JobProcess?
  var draft = JobDraft()

  init(_ ledger: JobLedger) { self.ledger = ledger }

  func observes(eventsOfKind eventKind: DatabaseEventKind) -> Bool { false }
  func databaseDidChange(with event: DatabaseEvent) {}
  func databaseWillCommit() throws { try process?.checkAlive() }

  func databaseDidCommit(_ db: Database) {
    guard let process else { return }
    let committed = draft
    draft = JobDraft()
    do {
      try ledger.commit(db, committed, by: process)
    } catch {
      ledger.fail(.effectsHappenOnce, "the queue's tables cannot be read: \(error)")
    }
  }

  func databaseDidRollback(_ db: Database) { draft = JobDraft() }
}
#endif
