#if Server && Rehearsal
import Foundation
import GRDB
import Tern
import TernDatabase
import TernTesting

/// A device: a real database, a user who writes plain SQL, and an engine that is killed now and
/// then. One thread runs everything here.
final class SimulatedDevice: @unchecked Sendable {
  // Sendable, because only the seeded executor's one thread ever touches it.
  let index: Int
  let database: DatabaseQueue
  private let server: SimulatedServer
  private let clock: VirtualClock
  private let executor: SeededExecutor
  private let trace: SimulationTrace
  private let wall: SimulatedWall
  var generator: SeededGenerator
  private(set) var replica: Replica
  private(set) var status: SyncStatus.Snapshot?
  private(set) var intents = Intents()
  private var engine: SyncEngine?
  private var tokens = 0

  private static func schema(_ plan: SimulationPlan) -> SyncSchema {
    SyncSchema(
      version: 1,
      tables: [
        SyncTable(
          "item",
          merge: [
            "n": .counter, "hi": .max, "lo": .min, "tags": .set, "pos": .order, "body": .text,
          ],
          deletes: plan.deletes)
      ])
  }

  init(
    _ index: Int, server: SimulatedServer, executor: SeededExecutor, trace: SimulationTrace,
    seed: UInt64
  ) throws {
    self.index = index
    self.server = server
    self.executor = executor
    self.trace = trace
    clock = server.clock
    generator = SeededGenerator(seed: seed)
    let wall = SimulatedWall(clock: server.clock, offset: server.plan.clockOffsets[index])
    self.wall = wall
    var configuration = Configuration()
    configuration.prepareDatabase { db in
      db.add(
        function: DatabaseFunction("julianday", argumentCount: 0) { _ in
          2440587.5 + (Double(wall.milliseconds) + 0.5) / 86_400_000
        })
    }
    database = try DatabaseQueue(configuration: configuration)
    try database.write { db in
      try db.execute(
        sql: """
          CREATE TABLE item (
            id TEXT NOT NULL PRIMARY KEY, a TEXT, b TEXT, n INTEGER NOT NULL DEFAULT 0,
            hi INTEGER, lo INTEGER, tags TEXT NOT NULL DEFAULT '[]', u INTEGER UNIQUE, pos TEXT,
            body TEXT NOT NULL DEFAULT '');
          CREATE TABLE mark (transactions INTEGER NOT NULL);
          INSERT INTO mark VALUES (0)
          """)
    }
    replica = try Self.open(database, server.plan, &generator)
  }

  private static func open(
    _ database: DatabaseQueue, _ plan: SimulationPlan, _ generator: inout SeededGenerator
  ) throws -> Replica {
    let id = ReplicaID(using: &generator)
    let tails = SharedGenerator(SeededGenerator(seed: generator.next()))
    return try Replica.openBlocking(
      database, schema: schema(plan),
      logRetention: plan.trims ? .seconds(-200_000) : Replica.defaultLogRetention,
      random: { tails.next() }, makeID: { id })
  }

  // MARK: - The engine

  /// Runs the engine until the simulation is over; whenever it dies, the device starts anew.
  func runEngine() async throws {
    while !Task.isCancelled {
      let replica = replica
      let jitter = SharedGenerator(SeededGenerator(seed: generator.next()))
      let engine = SyncEngine(
        store: replica.store, remote: SimulatedRemote(server: server, device: index),
        environment: SyncEnvironment(
          clock: clock, jitter: { jitter.fraction() },
          localWrites: { replica.localWrites.stream() }, pollInterval: .seconds(5),
          executor: executor))
      self.engine = engine
      await engine.run()
      if Task.isCancelled { return }
      trace.note("device \(index) killed")
      self.engine = nil
      try await reopen()
    }
  }

  /// Starts anew after a while, however often it dies on the way.
  private func reopen() async throws {
    while true {
      try await clock.sleep(for: .milliseconds(Int.random(in: 1...2000, using: &generator)))
      do {
        replica = try Self.open(database, server.plan, &generator)
        return
      } catch is CancellationError {
        trace.note("device \(index) killed while opening")
      }
    }
  }

  func logged() throws -> [Tern.Operation] {
    try database.read { try Data.fetchAll($0, sql: "SELECT bytes FROM grdb_tern_main_log") }
      .map { try Tern.Operation(bytes: Array($0)) }
  }

  var isUpToDate: Bool {
    guard let now = engine?.status.current else { return false }
    return now.phase == .upToDate && now.waiting == 0
  }

  /// For a violation's text.
  var summary: String {
    let now = engine?.status.current ?? SyncStatus.Snapshot()
    let mine = (try? replica.store.versionVector().sorted.map { "\($0.sequence)" }) ?? []
    let unsealed = (try? replica.store.counts().unsealedNotes) ?? -1
    return "device \(index) \(now.phase.rawValue), waiting \(now.waiting), unsealed \(unsealed), "
      + "merged \(mine.joined(separator: "/")), \(now.lastError.map { "\($0)" } ?? "no error")"
  }

  // MARK: - The user

  func runUser(until end: Int64) async throws {
    while clock.milliseconds < end {
      try await clock.sleep(for: .milliseconds(Int.random(in: 1...40, using: &generator) * 50))
      if generator.happens(0.02) { wall.jump(Int64.random(in: -5000...5000, using: &generator)) }
      do {
        var draft = Intents.Draft()
        let count = generator.happens(0.2) ? Int.random(in: 2...5, using: &generator) : 1
        let isSealing = generator.happens(0.2)
        let body: (Database) throws -> Void = { db in
          try db.execute(sql: "UPDATE mark SET transactions = transactions + 1")
          for _ in 0..<count { try self.writeOnce(db, &draft) }
        }
        if isSealing {
          // Whether it died before or after the commit shows in the database alone.
          let before = try transactionCount()
          do {
            try replica.store.write(body)
          } catch is CancellationError {
            if try transactionCount() == before { throw CancellationError() }
          }
        } else {
          try database.write(body)
        }
        intents.commit(draft)
        trace.note("device \(index) wrote \(draft.description)")
      } catch is CancellationError {
        trace.note("device \(index) lost a transaction that never committed")
      }
    }
  }

  private func transactionCount() throws -> Int {
    try database.read { try Int.fetchOne($0, sql: "SELECT transactions FROM mark") ?? 0 }
  }

  private func writeOnce(_ db: Database, _ draft: inout Intents.Draft) throws {
    let key = "k\(Int.random(in: 0..<server.plan.keyCount, using: &generator))"
    tokens += 1
    let token = "\(index).\(tokens)"
    let number = Int64.random(in: -50...50, using: &generator)
    let place = generator.happens(0.3) ? nil : Int.random(in: 0..<6, using: &generator)
    switch Int.random(in: 0..<18, using: &generator) {
    case 0...1:
      for rival in try rivals(db, key, place) { draft.deleted(rival) }
      let old = try Int64.fetchOne(db, sql: "SELECT n FROM item WHERE id = ?", arguments: [key])
      let spot = try randomPlace(db, besides: key)
      try placing(db, &draft) {
        let position = try replica.orderKey("item", at: spot, in: db)
        try db.execute(
          sql: "INSERT OR REPLACE INTO item VALUES (?, ?, ?, ?, ?, ?, json_array(abs(?)), ?, ?, ?)",
          arguments: [
            key, token + "a", token + "b", number, number, number, number % 4, place, position.text,
            generator.happens(0.5) ? "" : "(\(token))",
          ])
      }
      draft.wrote(key, ["a": token + "a", "b": token + "b"], adding: number - (old ?? 0))
    case 2...3:
      try db.execute(sql: "UPDATE item SET a = ? WHERE id = ?", arguments: [token, key])
      if db.changesCount > 0 { draft.wrote(key, ["a": token]) }
    case 4...5:
      try db.execute(sql: "UPDATE item SET b = ? WHERE id = ?", arguments: [token, key])
      if db.changesCount > 0 { draft.wrote(key, ["b": token]) }
    case 6...7:
      try db.execute(sql: "UPDATE item SET n = n + ? WHERE id = ?", arguments: [number, key])
      if db.changesCount > 0 { draft.wrote(key, [:], adding: number) }
    case 8:
      try db.execute(
        sql: "UPDATE item SET hi = ?, lo = ? WHERE id = ?", arguments: [number, number, key])
    case 9:
      try db.execute(
        sql: "UPDATE item SET tags = json_insert(tags, '$[#]', ?) WHERE id = ?",
        arguments: [abs(number % 4), key])
    case 10:
      try db.execute(
        sql: """
          UPDATE item SET tags = (
            SELECT json_group_array(value) FROM json_each(tags) WHERE value <> ?)
          WHERE id = ?
          """, arguments: [abs(number % 4), key])
    case 11:
      let rivals = try rivals(db, key, place)
      try db.execute(
        sql: "UPDATE OR REPLACE item SET u = ? WHERE id = ?", arguments: [place, key])
      for rival in rivals where db.changesCount > 0 { draft.deleted(rival) }
    case 12:
      try db.execute(sql: "UPDATE OR IGNORE item SET u = ? WHERE id = ?", arguments: [place, key])
    case 13:
      guard try Bool.fetchOne(db, sql: "SELECT 1 FROM item WHERE id = ?", arguments: [key]) ?? false
      else { return }
      let spot = try randomPlace(db, besides: key)
      try placing(db, &draft) {
        try replica.move("item", key: [.string(key)], to: spot, in: db)
      }
    case 14: try editPlainly(db, key, "<\(token)>")
    case 15...16: try editDraft(db, key, "[\(token)]")
    default:
      try db.execute(sql: "DELETE FROM item WHERE id = ?", arguments: [key])
      if db.changesCount > 0 { draft.deleted(key) }
    }
  }
}

extension SimulatedDevice {
  /// The rows that a REPLACE removes to give a key its place.
  private func rivals(_ db: Database, _ key: String, _ place: Int?) throws -> [String] {
    try String.fetchAll(
      db, sql: "SELECT id FROM item WHERE u = ? AND id <> ?", arguments: [place, key])
  }

  /// Inserts a token, or takes some letters, in one statement that any program could run.
  private func editPlainly(_ db: Database, _ key: String, _ token: String) throws {
    let place = Int.random(in: 0...60, using: &generator)
    let (inserted, removed) = generator.happens(0.7) ? (token, 0) : ("", 7)
    try db.execute(
      sql: """
        UPDATE item SET body = substr(body, 1, ?1) || ?2 || substr(body, ?1 + ?3 + 1) WHERE id = ?4
        """, arguments: [place, inserted, removed, key])
  }

  /// Types at one place and takes something away at another.
  private func editDraft(_ db: Database, _ key: String, _ token: String) throws {
    guard var draft = try replica.draft(of: "body", in: "item", key: [.string(key)], from: db)
    else { return }
    let place = Int.random(in: 0...draft.count, using: &generator)
    for (index, letter) in token.enumerated() { draft.insert(String(letter), at: place + index) }
    if generator.happens(0.4) {
      let start = Int.random(in: 0...draft.count, using: &generator)
      draft.remove(start..<min(draft.count, start + 5))
    }
    try replica.save(&draft, in: db)
  }
}

/// A device's wall clock: wrong by an offset, and jumping.
final class SimulatedWall: @unchecked Sendable {
  private let clock: VirtualClock
  private var offset: Int64

  init(clock: VirtualClock, offset: Int64) {
    self.clock = clock
    self.offset = offset
  }

  var milliseconds: Int64 { SimulatedServer.epochMilliseconds + clock.milliseconds + offset }
  /// Since 1970, to the nanosecond.
  var now: Duration {
    .milliseconds(SimulatedServer.epochMilliseconds + offset) + clock.now.offset
  }
  func jump(_ milliseconds: Int64) { offset += milliseconds }
}

/// A generator behind a reference, for closures.
final class SharedGenerator: @unchecked Sendable {
  private var generator: SeededGenerator

  init(_ generator: SeededGenerator) { self.generator = generator }
  func fraction() -> Double { .random(in: 0...1, using: &generator) }
  func next() -> UInt64 { generator.next() }
}
#endif
