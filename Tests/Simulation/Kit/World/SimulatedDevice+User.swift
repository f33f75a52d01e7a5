#if Server && Rehearsal
import GRDB
import Tern
import TernTesting

/// What a device's user does, step by step.
extension SimulatedDevice {
  /// - Parameter device: finds another device.
  func runUser(_ device: (Int) -> SimulatedDevice?) async throws {
    for step in script.steps(of: .device(index)) {
      let wait = step.at - clock.milliseconds
      if wait > 0 { try await clock.sleep(for: .milliseconds(wait)) }
      switch step.kind {
      case .write:
        var generator = SeededGenerator(seed: UInt64(step.seed))
        try write(&generator)
      case .clock(let milliseconds):
        wall.jump(milliseconds)
        trace.saw(.clockSet)
      case .kill: kill()
      case .backUp: try backUp()
      case .restore: restore()
      case .clone(let other): if let other = device(other) { try clone(other) }
      case .upgrade: upgrade()
      case .meet(let server): meet(server)
      case .trespass: try await trespass()
      case .unplug: folder?.connect()
      case .hide: folder?.hide()
      case .losePower: folder?.losePower()
      default: preconditionFailure("no step of a device: \(step.kind)")
      }
    }
  }

  private func trespass() async throws {
    let operations = Array(try logged().prefix(2))
    for space in script.spaces where space != place.space {
      for remote in remotes {
        if let found = try await remote.trespass(into: space, with: operations) { note(found) }
      }
    }
  }

  private func write(_ generator: inout SeededGenerator) throws {
    checkPair()
    checkInbox()
    do {
      var draft = Intents.Draft()
      let count = generator.happens(0.2) ? Int.random(in: 2...5, using: &generator) : 1
      let isSealing = generator.happens(0.2)
      let body: (Database) throws -> Void = { [version = file.version] db in
        try db.run("UPDATE mark SET transactions = transactions + 1")
        for _ in 0..<count {
          var writer = RandomWriter(device: self, version: version, generator: generator)
          try writer.write(db)
          generator = writer.generator
          draft.append(writer.draft)
        }
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
      file.intents.commit(draft)
      trace.note("device \(index) wrote \(draft.description)")
    } catch is CancellationError {
      trace.note("device \(index) lost a transaction that never committed")
    }
  }

  /// What lost stays in the inbox until its user looks, which nobody does here, or a newer one takes its
  /// place.
  func checkInbox() {
    do {
      let entries = try database.unsafeRead {
        try $0.integer("SELECT count(*) FROM grdb_tern_main_inbox") ?? 0
      }
      if entries < file.inboxEntries {
        note(
          "INV-10: the inbox of device \(index) had \(file.inboxEntries) entries and has \(entries)"
        )
      }
      file.inboxEntries = entries
      if entries > 0 { trace.saw(.inboxEntry) }
      if entries == SimulatedFile.inboxLimits(script).entries { trace.saw(.inboxFull) }
    } catch {
      note("failed: \(error)")
    }
  }

  private func transactionCount() throws -> Int64 {
    // As `read` would, were it not for a pragma that makes SQLite prepare every statement again.
    try database.unsafeRead { try $0.integer("SELECT transactions FROM mark") ?? 0 }
  }
}
#endif
