#if Server && Rehearsal
import Foundation
import GRDB
@_spi(Rehearsal) import Tern
import TernTesting

/// One run of a job queue in an app's database: processes that enqueue, work and die, services that
/// fail and a network that goes and comes, everything decided by a seed.
public final class JobSimulation: @unchecked Sendable {
  // Sendable, because only the seeded executor's one thread ever touches it.
  public struct Outcome: Equatable, Sendable {
    /// The invariant that was broken and how, or `nil`.
    public var violation: String?
    public var events: Int
    public var digest: UInt64
    public var jobs: Int
    public var sends: Int
    public var crashes: Int
    public var corrections: Int
  }

  private let world: JobWorld
  private var generator: SeededGenerator
  private var hasEnded = false
  private var failure: (any Error)?

  /// Runs one seed on the calling thread.
  public static func run(seed: UInt64, isPrinting: Bool = false) throws -> Outcome {
    try JobSimulation(seed: seed, isPrinting: isPrinting).run()
  }

  private init(seed: UInt64, isPrinting: Bool) throws {
    world = try JobWorld(seed: seed, isPrinting: isPrinting)
    generator = SeededGenerator(seed: world.nextSeed())
  }

  private func run() throws -> Outcome {
    defer { try? FileManager.default.removeItem(atPath: world.folder) }
    let world = world
    try CrashPoint.with({ try world.reach($0) }, runWithCrashes)
    return Outcome(
      violation: world.ledger.violation, events: world.trace.count, digest: world.trace.digest,
      jobs: world.ledger.entries.count, sends: world.network.sends, crashes: world.crashes,
      corrections: world.path.corrections)
  }

  private func runWithCrashes() throws {
    let task = Task(executorPreference: world.executor) { await self.live() }
    // To the very end of every task: one that stays behind keeps the whole world alive.
    let isFinished = world.executor.run(world.clock) { hasEnded }
    task.cancel()
    if let failure { throw failure }
    guard isFinished else { return world.ledger.fail(.drains, "nothing can happen any more") }
    if world.ledger.violation == nil { try JobAudit(world).checkAfterwards() }
  }

  private func live() async {
    defer { hasEnded = true }
    do {
      try await withThrowingDiscardingTaskGroup { group in
        for number in 0..<world.plan.processCount {
          group.addTask { try await self.keepAlive(number) }
        }
        if let transfers = world.transfers {
          group.addTask { try await self.watch(transfers) }
        }
        try await JobDirector(world).act(until: Int64(world.plan.busySeconds) * 1000)
        world.heal()
        for process in world.processes { process.quit() }
        let end = world.clock.milliseconds + Int64(world.plan.quietSeconds) * 1000
        while world.clock.milliseconds < end, !isDrained, world.ledger.violation == nil {
          try await world.clock.sleep(for: .seconds(1))
        }
        world.trace.note("quiet")
        if !isDrained, world.ledger.violation == nil {
          world.ledger.fail(
            .drains,
            "after \(world.plan.quietSeconds) quiet seconds not all is drained: "
              + "\(world.ledger.unfinished), \(leftOver)")
        }
        world.isOver = true
        for process in world.processes { process.quit() }
      }
    } catch {
      failure = error
      world.isOver = true
    }
  }

  private var isDrained: Bool { world.ledger.unfinished.isEmpty && leftOver.isEmpty }

  /// What the system that carries uploads on has to no purpose.
  private var leftOver: [String] { world.transfers.map(world.ledger.leftOver) ?? [] }

  /// The system works as long as there is a world, and is looked at now and then.
  private func watch(_ transfers: SimulatedTransfers) async throws {
    let world = world
    try await withThrowingTaskGroup(of: Void.self) { group in
      defer { group.cancelAll() }
      group.addTask { await transfers.work() }
      while !world.isOver {
        try await world.clock.sleep(for: .seconds(1))
        world.ledger.watch(transfers)
      }
    }
  }

  /// One life of a process after the other.
  private func keepAlive(_ number: Int) async throws {
    while !world.isOver {
      do {
        let process = try JobProcess(world, number)
        world.trace.note("process \(number) starts")
        try JobAudit(world).check(process)
        world.processes.append(process)
        try await process.live()
        world.processes.removeAll { $0 === process }
        try process.close()
      } catch let error as DatabaseError where error.resultCode == .SQLITE_BUSY {
        world.trace.note("process \(number) finds the database locked")
      }
      if world.isFaulty {
        let delay = Int.random(in: 1...4000, using: &generator)
        world.ledger.timing.block(until: world.clock.milliseconds + Int64(delay) + 1000)
        try await world.clock.sleep(for: .milliseconds(delay))
      }
    }
  }
}
#endif
