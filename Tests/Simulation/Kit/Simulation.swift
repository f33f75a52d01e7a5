#if Server && Rehearsal
import GRDB
import Tern
import TernTesting

/// One run of 2 to 5 replicas and a server in this process, everything decided by a seed.
public final class Simulation: @unchecked Sendable {
  // Sendable, because only the seeded executor's one thread ever touches it.
  public struct Outcome: Equatable, Sendable {
    /// The invariant that was broken and how, or `nil`.
    public var violation: String?
    public var events: Int
    public var digest: UInt64
    public var operations: Int
  }

  private let seed: UInt64
  private let clock = VirtualClock()
  private let executor: SeededExecutor
  private let trace: SimulationTrace
  private let plan: SimulationPlan
  private let server: SimulatedServer
  private let devices: [SimulatedDevice]
  private var generator: SeededGenerator
  private var isOver = false
  private var hasEnded = false
  /// How every device stood when the quiet time was over, if that was too short.
  private var undrained: String?
  private var failure: (any Error)?

  /// Runs one seed on the calling thread.
  public static func run(seed: UInt64, isPrinting: Bool = false) throws -> Outcome {
    try Simulation(seed: seed, isPrinting: isPrinting).run()
  }

  private init(seed: UInt64, isPrinting: Bool) throws {
    self.seed = seed
    var generator = SeededGenerator(seed: seed)
    let plan = SimulationPlan(using: &generator)
    let executor = SeededExecutor(seed: generator.next())
    let trace = SimulationTrace(clock: clock, isPrinting: isPrinting)
    let server = try SimulatedServer(
      plan: plan, clock: clock, trace: trace, seed: generator.next())
    devices = try (0..<plan.deviceCount).map {
      try SimulatedDevice(
        $0, server: server, executor: executor, trace: trace, seed: generator.next())
    }
    self.generator = generator
    (self.plan, self.executor, self.trace, self.server) = (plan, executor, trace, server)
    server.logged = { [devices] in try devices[$0].logged() }
  }

  private func run() throws -> Outcome {
    try CrashPoint.with({ try self.reach($0) }, runWithCrashes)
  }

  private func reach(_ point: CrashPoint) throws {
    guard server.isFaulty, !isOver else { return }
    let isServer = point.rawValue.hasPrefix("server")
    if generator.happens(isServer ? plan.serverCrashes : plan.crashes) {
      trace.note("crash at \(point.rawValue)")
      throw CancellationError()
    }
  }

  private func runWithCrashes() throws -> Outcome {
    let task = Task(executorPreference: executor) { await self.live() }
    // To the very end of every task: one that stays behind keeps the whole world alive.
    let isFinished = executor.run(clock) { hasEnded }
    task.cancel()
    if let failure { throw failure }
    return Outcome(
      violation: isFinished ? try check() : "INV-09: nothing can happen any more",
      events: trace.count, digest: trace.digest, operations: try server.operations().count)
  }

  private func live() async {
    defer { hasEnded = true }
    let end = Int64(plan.busySeconds) * 1000
    do {
      try await withThrowingDiscardingTaskGroup { group in
        for device in devices { group.addTask { try await device.runEngine() } }
        try await withThrowingDiscardingTaskGroup { users in
          for device in devices { users.addTask { try await device.runUser(until: end) } }
          users.addTask { try await self.server.run(until: end) }
        }
        server.heal()
        let deadline = clock.milliseconds + Int64(plan.quietSeconds) * 1000
        while clock.milliseconds < deadline, try !isAgreed() {
          try await clock.sleep(for: .seconds(1))
        }
        trace.note("quiet")
        if try !isAgreed() { undrained = devices.map(\.summary).joined(separator: "; ") }
        isOver = true
        group.cancelAll()
      }
    } catch {
      failure = error
      isOver = true
    }
  }

  private func isAgreed() throws -> Bool {
    for device in devices {
      guard device.isUpToDate, try device.replica.store.counts().unsealedNotes == 0 else {
        return false
      }
    }
    // A server that was wiped just now is one that no device has looked at yet.
    let held = try server.held()
    return try devices.allSatisfy { try $0.replica.store.versionVector() == held }
  }

  // MARK: - Checkers

  private func check() throws -> String? {
    if let violation = server.violation { return violation }
    if let undrained {
      return "INV-09: after \(plan.quietSeconds) quiet seconds not all is drained: \(undrained)"
    }
    let model = try Model(server.operations(), deletes: plan.deletes)
    if let violation = model.violation { return violation }
    let horizon = try horizon(of: devices)
    let states = try devices.map { try $0.replica.store.canonicalState().above(horizon) }
    let tables = try devices.map { device in
      try device.database.read { try Row.fetchAll($0, sql: "SELECT * FROM item ORDER BY id") }
    }
    for device in devices.indices.dropFirst() {
      if let rows = difference(of: states[0], states[device]) {
        return "INV-01: states of 0 and \(device) differ: \(rows)"
      }
      if tables[device] != tables[0] { return "INV-01: tables of 0 and \(device) differ" }
    }
    return try checkModel(model, above: horizon, states[0], tables[0]) ?? checkIntents(model)
      ?? checkFiles()
  }

  /// Nothing that a file shows is broken.
  private func checkFiles() throws -> String? {
    for device in devices {
      let diagnosis = try device.database.read { try DatabaseDiagnosis($0) }
      if let finding = diagnosis.findings.first {
        return "\(finding.invariant): the file of device \(device.index): \(finding)"
      }
    }
    return nil
  }

  private func checkModel(
    _ model: Model, above horizon: HybridTime, _ state: [CanonicalRow], _ table: [Row]
  ) -> String? {
    let expected = model.rows(above: horizon)
    let actual = state.reduce(into: [String: Model.Row]()) { rows, row in
      rows[row.key[0].string ?? ""] = Model.Row(
        life: row.life, isShown: row.isShown, isDeleted: row.deletion != nil,
        cells: row.cells.mapValues(\.value))
    }
    for key in Set(expected.keys).union(actual.keys).sorted() where expected[key] != actual[key] {
      return "INV-07: row \(key) is \(String(describing: actual[key])) and should be "
        + "\(String(describing: expected[key]))"
    }
    for row in table {
      let key: String = row["id"]
      for (column, value) in expected[key]?.cells ?? [:] {
        let shown: DatabaseValue = row[column]
        if "\(shown)" != "\(value)".replacing("'", with: "\""), "\(shown)" != "\(value)" {
          return "INV-01: \(key).\(column) shows \(shown) and its state is \(value)"
        }
      }
    }
    let positions = table.map { $0["pos"] as String? }
    if Set(positions).count < positions.count {
      return "INV-07: two rows stand at one position: \(positions.map { $0 ?? "none" }.sorted())"
    }
    let shown = expected.filter(\.value.isShown).count
    return shown == table.count
      ? nil : "INV-01: the table has \(table.count) rows and should have \(shown)"
  }

  /// Every committed write is in an operation of its device, unless the device overwrote it.
  private func checkIntents(_ model: Model) -> String? {
    for device in devices {
      guard let id = try? device.replica.store.replicaID() else { return "INV-02: no replica" }
      for (key, texts) in device.intents.texts {
        for (column, text) in texts
        where model.texts[id]?[key]?.contains(text) != true
          && !server.excuses(device.index, key, model)
        {
          return "INV-02: device \(device.index) committed \(key).\(column) = \(text), which no "
            + "operation carries"
        }
      }
      for (key, sum) in device.intents.sums where !device.intents.deletedKeys.contains(key) {
        let carried = model.sums[id]?[key] ?? 0
        if carried != sum, !server.excuses(device.index, key, model) {
          return "INV-02: device \(device.index) added \(sum) to \(key).n and its operations carry "
            + "\(carried)"
        }
      }
    }
    return nil
  }
}
#endif
