#if Server && Rehearsal
import GRDB
import Tern
import TernTesting

/// Makes things go wrong, by the seed.
final class JobDirector: @unchecked Sendable {
  // Sendable, because only the seeded executor's one thread ever touches it.
  private enum Fault { case kill, cancel, jump, network, lock, outage, pause, forcedEnd }

  private let world: JobWorld
  private var generator: SeededGenerator

  init(_ world: JobWorld) {
    self.world = world
    generator = SeededGenerator(seed: world.nextSeed())
  }

  func act(until end: Int64) async throws {
    let plan = world.plan
    let isOn: [(Fault, Bool)] = [
      (.kill, plan.kills), (.cancel, plan.cancels), (.jump, plan.wallJumps),
      (.network, plan.networkChanges), (.lock, plan.locks), (.outage, plan.outages),
      (.pause, plan.pauses), (.forcedEnd, plan.uploads?.forcedEnds ?? false),
    ]
    let faults = isOn.filter(\.1).map(\.0)
    while world.clock.milliseconds < end, world.ledger.violation == nil {
      try await world.clock.sleep(for: .milliseconds(Int.random(in: 100...5000, using: &generator)))
      guard let fault = faults.randomElement(using: &generator) else { continue }
      try await act(fault)
    }
  }

  private func act(_ fault: Fault) async throws {
    let service = SimulatedServices.names.randomElement(using: &generator)!
    switch fault {
    case .kill:
      // At any suspension point that is near.
      for _ in 0..<Int.random(in: 0...40, using: &generator) { await Task.yield() }
      try world.processes.randomElement(using: &generator)?.die("suddenly")
    case .cancel:
      for _ in 0..<Int.random(in: 0...20, using: &generator) { await Task.yield() }
      world.processes.randomElement(using: &generator)?.cancelRun()
    case .jump:
      let limit: Int64 = generator.oneIn(4) ? 86_400_000 : 10_000
      let jump = Int64.random(in: -limit...limit, using: &generator)
      world.trace.note("the wall clock is set by \(jump) ms")
      world.wall.jump(jump)
      world.ledger.wallJumped()
    case .network: changeNetwork()
    case .forcedEnd:
      for process in world.processes { try process.die("by force") }
      world.transfers?.loseEverything()
    case .lock: try await lock()
    case .outage:
      world.services.breakDown(service, for: Int64.random(in: 1000...20_000, using: &generator))
    case .pause:
      world.services.pause(
        service, for: Int64.random(in: 1...20_000, using: &generator),
        saysWhen: !generator.oneIn(3))
    }
  }

  private func changeNetwork() {
    let isWrong = world.plan.wrongPaths && generator.oneIn(2)
    if isWrong, generator.oneIn(4) {
      let way = [SimulatedPath.Way.open, .none, .captive].randomElement(using: &generator)!
      return world.path.changeUnnoticed(way)
    }
    let hasRoute = generator.oneIn(2)
    let blocked: SimulatedPath.Way = generator.oneIn(2) && hasRoute ? .captive : .none
    world.path.change(
      hasRoute: hasRoute, isExpensive: world.plan.requirements && generator.oneIn(2),
      way: hasRoute != isWrong ? .open : blocked)
  }

  /// Another tool holds a transaction open.
  private func lock() async throws {
    var configuration = Configuration()
    configuration.allowsUnsafeTransactions = true
    let database = try DatabaseQueue(path: world.databasePath, configuration: configuration)
    let milliseconds = Int64.random(in: 1...3000, using: &generator)
    world.trace.note("the database is locked for \(milliseconds) ms")
    try database.inDatabase { try $0.execute(sql: "BEGIN IMMEDIATE") }
    defer { world.trace.note("the database is free") }
    // Workers look again within a second.
    world.ledger.timing.block(until: world.clock.milliseconds + milliseconds + 1000)
    try await world.clock.sleep(for: .milliseconds(milliseconds))
    try database.inDatabase { try $0.execute(sql: "COMMIT") }
    try database.close()
  }
}
#endif
