import Foundation
import GRDB
import Synchronization
import Tern
import TernTesting
import Testing

/// A remote that loses what it acknowledged, between the greeting and the begin of the event
/// stream, and takes something else at the same position.
@Test(.timeLimit(.minutes(1)))
func `INV-09: a stream that says nothing new is looked behind once it holds`() async throws {
  func write(_ device: LibraryDevice, _ isbn: String) async throws {
    try await device.database.write { db in
      try db.execute(sql: "INSERT INTO book VALUES (?, 'Dune')", arguments: [isbn])
    }
  }
  let elsewhere = ScriptedRemote("home")
  let tablet = try await LibraryDevice(elsewhere)
  try await write(tablet, "2")
  try await tablet.engine.syncOnce()

  let isLost = Mutex(false)
  let remote = ScriptedRemote("home") { state in
    state.onPosition = { state in
      if !isLost.withLock({ $0 }), state.operations.count == 1 {
        state.operations = elsewhere.operations
        state.heads = VersionVector([state.operations[0].envelope.replica: 1])
        isLost.withLock { $0 = true }
      }
      return state.position
    }
    state.onPull = { state, cursor in
      guard isLost.withLock({ $0 }), cursor?.rawValue == "1", state.operations.count == 1 else {
        return state.page(after: cursor)
      }
      throw RemoteError(.cursorUnknown, "what was there is gone")
    }
  }
  let clock = VirtualClock()
  let phone = try await LibraryDevice(remote, SyncEnvironment(clock: clock, jitter: { 0 }))
  try await write(phone, "1")
  await withDiscardingTaskGroup { group in
    group.addTask { await phone.engine.run() }
    while !isLost.withLock({ $0 }), !Task.isCancelled { await Task.yield() }
    let before = remote.positionCount
    while remote.positionCount < before + 1000, !Task.isCancelled { await Task.yield() }
    #expect(remote.operations.count == 1)
    while remote.operations.count < 2, !Task.isCancelled {
      _ = clock.advance()
      await Task.yield()
    }
    group.cancelAll()
  }
  #expect(remote.operations.count == 2)
  let books = try await phone.database.read { db in
    try String.fetchAll(db, sql: "SELECT isbn FROM book ORDER BY isbn")
  }
  #expect(books == ["1", "2"])
}
