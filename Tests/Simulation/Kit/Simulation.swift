#if Server && Rehearsal
import Foundation
import GRDB
@_spi(Rehearsal) import Tern
import TernTesting

/// One run of a script in this process: replicas, servers, and what goes wrong between them.
public final class Simulation: @unchecked Sendable {
  // Sendable, because only the seeded executor's one thread ever touches it.
  public struct Outcome: Equatable, Sendable {
    /// The invariant that was broken and how, or `nil`.
    public var violation: String?
    public var events: Int
    public var digest: UInt64
    public var operations: Int
    /// Of what seldom happens.
    package var tally = Tally()
  }

  let script: SimulationScript
  let servers: [SimulatedServer]
  let devices: [SimulatedDevice]
  /// Of the devices that share one.
  let folders: [SimulatedFolder]
  private let carrier: FolderCarrier
  /// Where the folders are; removed at the end.
  private let base: String
  private let clock = VirtualClock()
  private let executor: SeededExecutor
  let trace: SimulationTrace
  /// What decides where processes die.
  private var generators: [SeededGenerator]
  private var isFaulty = true
  private var hasEnded = false
  /// How every device stood when the quiet time was over, if that was too short.
  private(set) var undrained: String?
  private var failure: (any Error)?
  private let furtherCheck: () throws -> String?

  /// Runs one seed on the calling thread.
  public static func run(seed: UInt64, isPrinting: Bool = false) -> Outcome {
    run(SimulationScript(seed: seed), isPrinting: isPrinting)
  }

  /// Runs a script on the calling thread. An error is a violation as well, wherever it comes from, so that
  /// its seed is named and its script shrunken.
  ///
  /// - Parameter check: looks for a violation when nothing else found one.
  package static func run(
    _ script: SimulationScript, isPrinting: Bool = false,
    alsoChecking check: @escaping () throws -> String? = { nil }
  ) -> Outcome {
    do {
      return try Simulation(script, isPrinting: isPrinting, alsoChecking: check).run()
    } catch {
      return Outcome(violation: Self.violation(by: error), events: 0, digest: 0, operations: 0)
    }
  }

  private static func violation(by error: any Error) -> String { "failed: \(error)" }

  private init(
    _ script: SimulationScript, isPrinting: Bool, alsoChecking check: @escaping () throws -> String?
  ) throws {
    (self.script, furtherCheck) = (script, check)
    let (clock, executor) = (clock, SeededExecutor(seed: script.seed))
    let trace = SimulationTrace(clock: clock, isPrinting: isPrinting)
    let servers = try script.servers.map {
      try SimulatedServer($0, script: script, clock: clock, trace: trace)
    }
    let base = FileManager.default.temporaryDirectory.appending(
      component: "tern-sim-\(UUID().uuidString)"
    ).path(percentEncoded: false)
    let folders = try script.devices.filter(\.hasFolder).map {
      try SimulatedFolder($0, script, in: base, clock: clock, trace: trace)
    }
    (self.base, self.folders) = (base, folders)
    carrier = FolderCarrier(folders, script, clock: clock, trace: trace)
    devices = try script.devices.map { device in
      try SimulatedDevice(
        device, script, servers: servers,
        folder: folders.first { $0.device == device.index }, clock: clock, executor: executor,
        trace: trace)
    }
    generators = [script.generator(2), script.generator(3)]
    (self.executor, self.trace, self.servers) = (executor, trace, servers)
    trace.saw(script)
    for device in devices { device.folder?.kill = { [unowned device] in device.kill() } }
    for server in servers {
      server.logged = { [devices] index in
        try devices.first { $0.index == index }?.logged() ?? []
      }
      server.networkChanged = { [devices] index in
        devices.first { $0.index == index }?.network.set(hasRoute: true)
      }
    }
  }

  private func run() throws -> Outcome {
    try CrashPoint.with({ try self.reach($0) }, runWithCrashes)
  }

  private func reach(_ point: CrashPoint) throws {
    try crash(at: point)
    switch point {
    case .serverBeforeTrim: trace.saw(.spaceTrimmed)
    case .snapshotBeforeCommit: trace.saw(.snapshotLoaded)
    default: break
    }
  }

  private func crash(at point: CrashPoint) throws {
    // An opening that fails puts the triggers back, and leaves nothing of what a death there does:
    // fleets of real processes die at those points.
    guard isFaulty, !CrashPoint.ofOpening.contains(point) else { return }
    let isServer = point.rawValue.hasPrefix("server")
    // Those are reached seldom.
    let weight = CrashPoint.ofSnapshots.contains(point) ? 5.0 : 1
    let rate = (script.rates[isServer ? .serverCrash : .deviceCrash] ?? 0) * weight
    if generators[isServer ? 1 : 0].happens(rate) {
      trace.note("crash at \(point.rawValue)")
      trace.tally.add(Tally.crash(point))
      throw CancellationError()
    }
  }

  private func runWithCrashes() -> Outcome {
    let task = Task(executorPreference: executor) { await self.live() }
    // To the very end of every task: one that stays behind keeps the whole world alive.
    let isFinished = executor.run(clock) { hasEnded }
    task.cancel()
    defer {
      // Servers and devices know each other, and many worlds are run in one process.
      for server in servers { (server.logged, server.networkChanged) = ({ _ in [] }, { _ in }) }
      // What stays behind harms nobody.
      if !folders.isEmpty { try? FileManager.default.removeItem(atPath: base) }
    }
    var (violation, count): (String?, Int) = (nil, 0)
    do {
      if let failure { throw failure }
      violation =
        isFinished ? try check() ?? furtherCheck() : "INV-09: nothing can happen any more"
      count = try script.spaces.reduce(0) { try $0 + operations(in: $1).count }
    } catch {
      violation = violation ?? Self.violation(by: error)
    }
    return Outcome(
      violation: violation, events: trace.count, digest: trace.digest, operations: count,
      tally: trace.tally)
  }

  private func live() async {
    defer { hasEnded = true }
    do {
      try await withThrowingDiscardingTaskGroup { group in
        for device in devices { group.addTask { try await device.run() } }
        if !folders.isEmpty { group.addTask { await self.carrier.run() } }
        try await withThrowingDiscardingTaskGroup { users in
          for device in devices {
            users.addTask {
              try await device.runUser { index in self.devices.first { $0.index == index } }
            }
          }
          for server in servers { users.addTask { try await server.run() } }
          // However few steps there are: what is on its way may still meet a fault.
          try await clock.sleep(for: .milliseconds(SimulationScript.busyMilliseconds))
        }
        try await quieten()
        group.cancelAll()
      }
    } catch {
      failure = error
    }
  }

  /// Nothing goes wrong any more, and everything must drain (INV-09).
  private func quieten() async throws {
    trace.note("faults end")
    isFaulty = false
    for server in servers {
      server.heal()
      try ReplicaLiar.ban(from: server)
    }
    for folder in folders { folder.heal() }
    var seconds = 0
    let deadline = clock.milliseconds + SimulationScript.quietSeconds * 1000
    while clock.milliseconds < deadline, try !isAgreed() {
      // A copy is found out at a greeting, and has one whenever its app is started.
      for device in devices where seconds % 60 == 0 && device.isCopied { device.kill() }
      // What a member's device wrote under an id that it has no more, only an operator lets others
      // bring.
      if seconds % 60 == 30 {
        let living = try Set(devices.map { try $0.replica.store.replicaID() })
        for server in servers { try server.admit(allBut: living) }
      }
      seconds += 1
      try await clock.sleep(for: .seconds(1))
      for device in devices where device.isRefused {
        device.checkRefusal()
        device.beginAnew()
      }
      for device in devices where device.waitsForUpgrade { device.upgrade() }
    }
    trace.note("quiet")
    if try !isAgreed() { undrained = devices.map(\.summary).joined(separator: "; ") }
  }

  private func isAgreed() throws -> Bool {
    for device in devices {
      guard device.isUpToDate, try device.replica.store.counts().unsealedChanges == 0 else {
        return false
      }
    }
    // A server that was wiped just now is one that no device has looked at yet.
    for device in devices {
      let merged = try device.replica.store.versionVector()
      for server in servers where device.place.servers.contains(server.index) {
        guard try server.held(in: device.place.space) == merged else { return false }
      }
      if let folder = device.folder, folder.heads != merged { return false }
    }
    return carrier.isDone
  }

  /// Everything that servers and folders hold of a space, or servers have a snapshot for, each author's in its order.
  func operations(in space: Int) throws -> [SyncOperation] {
    var operations: [ReplicaID: [UInt64: SyncOperation]] = [:]
    var held = VersionVector()
    for server in servers {
      for (author, known) in try server.operations(in: space) {
        operations[author, default: [:]].merge(known) { $1 }
      }
      for (author, head) in try server.held(in: space).sequences {
        held[author] = max(held[author], head)
      }
    }
    for folder in folders where folder.space == space {
      for (author, known) in folder.operations {
        operations[author, default: [:]].merge(known) { $1 }
      }
      for (author, head) in folder.heads.sequences { held[author] = max(held[author], head) }
    }
    return operations.keys.sorted().flatMap { author in
      operations[author]!.filter { $0.key <= held[author] }.sorted { $0.key < $1.key }.map(\.value)
    }
  }
}
#endif
