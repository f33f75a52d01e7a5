import GRDB
import Tern
import TernTesting
import TestDevice

/// What happens in a drawn world.
extension DrawnWorld {
  func run() async throws {
    for _ in 0..<Int.random(in: 10...24, using: &random) {
      tick()
      try await step()
    }
    try await converge()
    try await end()
  }

  private func step() async throws {
    let number = phones.indices.randomElement(using: &random)!
    switch Int.random(in: 0..<100, using: &random) {
    case 0..<10 where kinds.migrations && releases.count < 5:
      release()
      if random.happens(0.7) { try upgrade(number, to: releases.count - 1) }
    case 0..<20 where kinds.migrations:
      try upgrade(number, to: .random(in: 0..<releases.count, using: &random))
    case 20..<22 where kinds.migrations && !isRewritten: try await rewrite()
    case 22..<26 where kinds.copies && phones.count < 5: try copy(number)
    case 26..<30 where kinds.twoRemotes: try addRemote(to: number)
    case 30..<35 where phones.count < 4 && !isRewritten:
      try join(
        release: .random(in: 0..<releases.count, using: &random),
        remotes: [remotes.indices.randomElement(using: &random)!])
    case 35..<55: try await sync(number)
    default: try write(number)
    }
  }

  /// Each statement is as it is without Tern.
  private func write(_ number: Int) throws {
    let phone = phones[number]
    let statements = (0...Int.random(in: 0...2, using: &random)).map { _ in
      schema(of: phone).statement(using: &random)
    }
    note("device \(number) writes")
    for sql in statements { note("  \(sql)") }
    let twin = random.happens(0.35) ? try bare(phone.device.database) : nil
    let results = try Self.run(statements, phone.device.database)
    note("  \(results)")
    if let twin {
      let twins = try Self.run(statements, twin)
      guard results == twins else { throw fail("without Tern: \(twins)") }
      try expectEqual(phone, twin, after: "a write on device \(number)")
    }
    guard random.happens(0.4) else { return }
    note("device \(number) seals")
    try phone.device.store.seal()
  }

  /// What each statement of a transaction came to.
  private static func run(
    _ statements: [String], _ database: any DatabaseWriter
  ) throws -> [String] {
    var results: [String] = []
    do {
      try database.write { db in
        for sql in statements {
          do {
            try db.execute(sql: sql)
            results.append("\(db.changesCount)")
          } catch let error as DatabaseError {
            results.append("\(error.extendedResultCode): \(error.message ?? "")")
            guard db.isInsideTransaction else { throw error }
          }
        }
      }
    } catch let error as DatabaseError {
      results.append("commit \(error.extendedResultCode)")
    }
    return results
  }

  /// Merges change nothing but rows, whatever comes of them.
  func sync(_ number: Int) async throws {
    let phone = phones[number]
    let (before, stale) = (try standing(phone), try stale(phone))
    phones[number].errors = []
    for engine in phone.device.engines {
      do {
        try await engine.syncOnce()
      } catch  where error is RemoteError || error is SnapshotError {
        // Another release's snapshot can't be loaded, for example; in the end nothing is in the way.
        phones[number].errors.append("\(error)")
      }
    }
    note("device \(number) syncs \(phones[number].errors)")
    let after = try standing(phone)
    guard before == after else { throw fail("a sync leaves \(after), and \(before) was there") }
    try expectNoStale(phone, but: stale, after: "a sync of device \(number)")
  }

  /// All devices are upgraded and sync until none has news.
  func converge() async throws {
    note("all converge")
    for number in phones.indices { try upgrade(number, to: releases.count - 1) }
    if kinds.twoRemotes, !phones.contains(where: { $0.remotes.count == 2 }) {
      try addRemote(to: 0)
    }
    // News of one remote reaches those of the other in the round after the next: whoever carries it
    // may have left one before the other gave it.
    var quiet = 0
    for _ in 0..<10 where quiet < 2 {
      let counts = remotes.map(\.operations.count)
      for number in phones.indices { try await sync(number) }
      quiet = try hasConverged() && remotes.map(\.operations.count) == counts ? quiet + 1 : 0
    }
    for phone in phones {
      let errors = phone.errors.filter { !isOfRewrittenCounter($0) }
      if !errors.isEmpty { throw fail("device \(phone.number): \(errors)") }
    }
    guard try hasConverged() else {
      let vectors = try phones.map { try $0.device.store.versionVector() }
      throw fail("devices have \(vectors), and no news of each other")
    }
    try expectAlike(phones.map(\.device), "device")
  }

  /// Devices can show different numbers of a counter that a migration wrote (Docs/Migrations.md), and
  /// their state reports tell that.
  private func isOfRewrittenCounter(_ error: String) -> Bool {
    let schema = releases.last!
    return error.contains("(state-differs)")
      && schema.tables.contains { table in
        error.hasPrefix("\(table.name): ")
          && table.columns.contains { schema.rebased.contains($0.id) }
      }
  }

  private func hasConverged() throws -> Bool {
    let vectors = try phones.map { try $0.device.store.versionVector() }
    return vectors.allSatisfy { $0 == vectors[0] }
      && phones.flatMap(\.device.engines).allSatisfy { $0.status.current.unpushed == 0 }
  }
}
