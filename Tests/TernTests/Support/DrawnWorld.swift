import Foundation
import GRDB
import Synchronization
import Tern
import TernTesting
import TestDevice

/// Devices with a drawn schema, their remotes, and what happens to them.
///
/// A seed draws the kinds of step that there are (swarm testing), and then the steps. All of it is
/// the same each time: devices have clocks of the world's.
final class DrawnWorld {
  struct Kinds {
    var migrations: Bool
    /// Copies of files make forks where there are two remotes, which are kept and not mended.
    var copies: Bool
    var twoRemotes: Bool
    var trimming: Bool

    init(using random: inout SeededGenerator) {
      (migrations, trimming) = (random.happens(0.6), random.happens(0.4))
      let other = Int.random(in: 0..<3, using: &random)
      (copies, twoRemotes) = (other == 0, other == 1)
    }
  }

  struct Phone {
    var number: Int
    var device: Device
    var release: Int
    var remotes: [Int]
    var hasTriggers = true
    /// Of the last exchange with each.
    var errors: [String] = []
  }

  /// What broke, and what had happened before.
  struct Violation: Error, CustomStringConvertible {
    let seed: UInt64
    let what: String
    let trace: [String]

    var description: String {
      "seed \(seed): \(what)\n  " + trace.joined(separator: "\n  ")
    }
  }

  let seed: UInt64
  var random: SeededGenerator
  let kinds: Kinds
  var releases: [DrawnSchema]
  /// What each release's migration says.
  private var migrations: [[String]]
  var phones: [Phone] = []
  let remotes: [MemoryRemote]
  private let wall = Wall()
  private(set) var trace: [String] = []
  /// Whether a migration wrote what travels, which a device that begins later doesn't know.
  private(set) var isRewritten = false
  private var made = 0

  private final class Wall: Sendable {
    let milliseconds = Mutex<Int64>(1_790_000_000_000)
  }

  init(seed: UInt64) throws {
    self.seed = seed
    random = SeededGenerator(seed: seed)
    kinds = Kinds(using: &random)
    let first = DrawnSchema(
      isMigrated: kinds.migrations, folds: seed.isMultiple(of: 2), using: &random)
    releases = [first]
    migrations = [first.creation + first.mirrorTables + first.triggerTexts]
    let page = [1000, 3].randomElement(using: &random)!
    let (isTrimming, report) = (kinds.trimming, [1000, 2].randomElement(using: &random)!)
    remotes = ["home", "work"].prefix(kinds.twoRemotes ? 2 : 1).map {
      MemoryRemote(
        id: $0, pageOperations: page, operationsPerSnapshot: isTrimming ? 3 : 10_000,
        operationsPerReport: report)
    }
    note("\(kinds)")
    for sql in migrations[0] { note("  \(sql)") }
    for number in 0..<2 { try join(release: 0, remotes: [number % remotes.count]) }
    // What one remote has is carried to the other.
    if kinds.twoRemotes, random.happens(0.5) { try join(release: 0, remotes: [0, 1]) }
  }

  func note(_ line: String) { trace.append(line) }

  func fail(_ what: String) -> Violation { Violation(seed: seed, what: what, trace: trace) }

  func schema(of phone: Phone) -> DrawnSchema { releases[phone.release] }

  func tick() {
    let passed = Int64.random(in: 0...2, using: &random)
    wall.milliseconds.withLock { $0 += passed }
  }

  // MARK: - Devices

  func database() throws -> DatabaseQueue {
    var configuration = Configuration()
    let (wall, offset) = (wall, Int64.random(in: -20...20, using: &random))
    configuration.prepareDatabase { db in
      db.add(
        function: DatabaseFunction("julianday", argumentCount: 0) { _ in
          let now = wall.milliseconds.withLock { $0 + offset }
          return (Double(now) + 0.5) / 86_400_000 + 2_440_587.5
        })
    }
    return try DatabaseQueue(configuration: configuration)
  }

  /// - Parameter isObserver: whether nothing of its own is in the tables that migrations make.
  func migrator(
    to release: Int, withTriggers: Bool = true, isObserver: Bool = false
  ) -> DatabaseMigrator {
    var migrator = DatabaseMigrator()
    for (number, all) in migrations.prefix(release + 1).enumerated() {
      let statements = all.filter {
        (withTriggers || !$0.hasPrefix("CREATE TRIGGER"))
          && !(isObserver && $0.hasPrefix("INSERT OR IGNORE"))
      }
      migrator.registerMigration("release \(number)") { db in
        for sql in statements { try db.execute(sql: sql) }
      }
    }
    return migrator
  }

  func open(
    _ database: any DatabaseWriter, release: Int, remotes: [Int], withTriggers: Bool = true,
    isObserver: Bool = false
  ) throws -> Device {
    made += 1
    let drawn = Mutex(SeededGenerator(seed: seed &+ UInt64(made)))
    let id = UInt64(made) << 40
    let replica = try Replica.openBlocking(
      database, schema: releases[release].schema(version: release + 1),
      migrator: migrator(to: release, withTriggers: withTriggers, isObserver: isObserver),
      logRetention: kinds.trimming ? .seconds(-60) : Replica.defaultLogRetention,
      random: { drawn.withLock { $0.next() } }, makeID: { ReplicaID(high: 0, low: id) })
    return Device(database, replica, remotes: remotes.map { self.remotes[$0] })
  }

  /// A device begins with a release, perhaps not the newest.
  func join(
    release: Int, remotes: [Int], withTriggers: Bool = true, isObserver: Bool = false
  ) throws {
    let number = phones.count
    note("device \(number) joins with release \(release) at \(remotes)")
    let device = try open(
      database(), release: release, remotes: remotes, withTriggers: withTriggers,
      isObserver: isObserver)
    phones.append(
      Phone(
        number: number, device: device, release: release, remotes: remotes,
        hasTriggers: withTriggers))
  }

  /// A device's file is copied, and both go on.
  func copy(_ number: Int) throws {
    let (phone, database) = (phones[number], try database())
    try phone.device.database.backup(to: database)
    note("device \(phones.count) begins as a copy of device \(number)")
    var copy = phone
    copy.number = phones.count
    copy.device = try open(database, release: phone.release, remotes: phone.remotes)
    phones.append(copy)
  }

  func addRemote(to number: Int) throws {
    guard phones[number].remotes.count == 1 else { return }
    phones[number].remotes.append(1 - phones[number].remotes[0])
    note("device \(number) takes the second remote")
    phones[number].device = try open(
      phones[number].device.database, release: phones[number].release,
      remotes: phones[number].remotes)
  }

  // MARK: - Releases

  func release() {
    var next = releases.last!
    let statements = next.migrate(using: &random)
    add(next, statements)
  }

  func add(_ next: DrawnSchema, _ statements: [String]) {
    note("release \(releases.count):")
    for sql in statements { note("  \(sql)") }
    releases.append(next)
    migrations.append(statements)
  }

  /// An app rewrites data in a migration where all devices have the same and none is behind: others
  /// would rewrite other values, or bring what was not rewritten (Docs/Migrations.md).
  func rewrite() async throws {
    try await converge()
    var next = releases.last!
    let statements = next.rewrite(using: &random)
    add(next, statements)
    isRewritten = true
    for number in phones.indices { try upgrade(number, to: releases.count - 1) }
  }

  func upgrade(_ number: Int, to release: Int) throws {
    guard release > phones[number].release else { return }
    note("device \(number) is upgraded to release \(release)")
    let phone = phones[number]
    try phone.device.store.seal()
    let counts = try phone.device.store.counts()
    // What waits is replayed or shown once the schema is another, and what is adopted gets its form.
    let isSettled =
      counts.pending[.schema] == 0 && counts.quarantined == 0
      && schema(of: phone).tables.count { $0.isSynced }
        == releases[release].tables.count { $0.isSynced }
    let twin = isSettled ? try bare(phone.device.database) : nil
    let stale = try stale(phone)
    phones[number].release = release
    phones[number].device = try open(
      phone.device.database, release: release, remotes: phone.remotes)
    if let twin {
      try migrator(to: release).migrate(twin)
      try expectEqual(
        phones[number], twin, after: "the upgrade of device \(number)", withPointers: false)
    }
    try expectNoStale(phones[number], but: stale, after: "the upgrade of device \(number)")
  }
}
