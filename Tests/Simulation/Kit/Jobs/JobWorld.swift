#if Server && Rehearsal
import Foundation
import GRDB
@_spi(Rehearsal) import Tern
import TernDatabase
import TernTesting

/// What the processes of a world share: the disk, the time, the network and the services.
final class JobWorld: @unchecked Sendable {
  // Sendable, because only the seeded executor's one thread ever touches it.
  static let gateDelay = Duration.seconds(5)
  static let longestGate = Duration.seconds(60)

  let plan: JobPlan
  let clock = VirtualClock()
  let executor: SeededExecutor
  let trace: SimulationTrace
  let wall: SimulatedWall
  let path: SimulatedPath
  let services: SimulatedServices
  /// Between handlers and services.
  let network: SimulatedTransport
  let ledger: JobLedger
  /// `nil` in a world without uploads.
  let transfers: SimulatedTransfers?
  let folder: String
  private var generator: SeededGenerator
  private var tokens = 0
  private var runs = 0
  private(set) var crashes = 0
  /// Of this phase in which things go wrong.
  private(set) var isFaulty = true
  var isOver = false
  var processes: [JobProcess] = []
  /// How many lives of processes there were.
  var lives = 0

  init(seed: UInt64, isPrinting: Bool) throws {
    var generator = SeededGenerator(seed: seed)
    plan = JobPlan(seed: seed, using: &generator)
    executor = SeededExecutor(seed: generator.next())
    trace = SimulationTrace(clock: clock, isPrinting: isPrinting)
    wall = SimulatedWall(clock: clock, offset: 0)
    path = SimulatedPath(clock, trace)
    services = SimulatedServices(plan: plan, clock: clock, trace: trace, seed: generator.next())
    ledger = JobLedger(plan: plan, clock: clock, wall: wall, path: path, trace: trace)
    network = SimulatedTransport(
      plan: plan, services: services, ledger: ledger, clock: clock, path: path, trace: trace,
      seed: generator.next())
    transfers = plan.uploads.map { [network, services, ledger, clock, trace] uploads in
      SimulatedTransfers(
        plan: uploads, network: network, services: services, ledger: ledger, clock: clock,
        trace: trace, seed: seed ^ 0x7379_7374_656D)
    }
    ledger.transfers = transfers
    self.generator = generator
    folder = try Self.makeFolder()
  }

  /// In memory where the system has such a place.
  private static func makeFolder() throws -> String {
    let isLinux = FileManager.default.isWritableFile(atPath: "/dev/shm")
    let root = isLinux ? "/dev/shm" : NSTemporaryDirectory()
    let folder = "\(root)/tern-jobs-\(getpid())-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    return folder
  }

  var databasePath: String { "\(folder)/app.sqlite" }
  var filesPath: String { "\(databasePath)-files" }

  func nextSeed() -> UInt64 { generator.next() }

  func nextToken() -> Int {
    tokens += 1
    return tokens
  }

  var hasTokensLeft: Bool { tokens < plan.jobCount }

  func nextRun() -> Int {
    runs += 1
    return runs
  }

  func happens(_ probability: Double) -> Bool { isFaulty && generator.happens(probability) }

  /// A named point is reached in a process, which may die there.
  func reach(_ point: CrashPoint) throws {
    guard let process = JobProcess.current else { return }
    try process.checkAlive()
    guard happens(plan.crashes) else { return }
    try process.die("at \(point.rawValue)")
    throw CancellationError()
  }

  func countCrash() { crashes += 1 }

  func heal() {
    trace.note("faults end")
    isFaulty = false
    services.heal()
    path.change(hasRoute: true, way: .open)
  }
}
#endif
