import Foundation
import GRDB
import Synchronization
import Tern
import TernTesting
import Testing

/// A space in memory, to which the way fails for as long as a test wants.
final class FailingRemote: Remote {
  private let space: MemoryRemote
  private let failure = Mutex<RemoteError?>(nil)

  init(_ space: MemoryRemote) { self.space = space }

  var id: String { space.id }

  func fail(_ error: RemoteError?) { failure.withLock { $0 = error } }

  func greet(as replica: ReplicaID?) async throws -> RemoteGreeting {
    try check()
    return try await space.greet(as: replica)
  }

  func push(_ operations: [SyncOperation]) async throws -> PushReceipt {
    try check()
    return try await space.push(operations)
  }

  func pull(after cursor: RemoteCursor?, excluding replica: ReplicaID) async throws -> PulledPage {
    try check()
    return try await space.pull(after: cursor, excluding: replica)
  }

  func positions(after cursor: RemoteCursor?) -> AsyncThrowingStream<UInt64, any Error> {
    space.positions(after: cursor)
  }

  private func check() throws {
    if let failure = failure.withLock({ $0 }) { throw failure }
  }
}

@Test func `a run goes on when there is a network again`() async throws {
  let (remote, network) = (FailingRemote(MemoryRemote()), ScriptedPathSource(hasRoute: false))
  remote.fail(RemoteError(.unreachable, "there is no network"))
  // Nothing but the network ends the wait before the test's time is up.
  let hour = Backoff(base: .seconds(3600), limit: .seconds(3600))
  let phone = try await LibraryDevice(
    remote, SyncEnvironment(backoff: hour, jitter: { 1 }, network: network))
  try await phone.database.write { db in
    try db.execute(sql: "INSERT INTO book VALUES ('9780441172719', 'Dune')")
  }

  async let _: Void = phone.engine.run()  // until the test ends
  let waiting = await phone.engine.status.updates.first { $0.phase == .waiting }
  #expect(waiting?.lastError?.code == .unreachable)
  remote.fail(nil)
  network.set(hasRoute: true)
  let done = try #require(await phone.engine.status.updates.first { $0.phase == .upToDate })
  #expect(done.lastError == nil)
  #expect(done.unpushed == 0)
}

@Test func `a revoked token is named, and nothing is lost by it`() async throws {
  let remote = FailingRemote(MemoryRemote())
  let phone = try await LibraryDevice(remote)
  try await phone.database.write { db in
    try db.execute(sql: "INSERT INTO book VALUES ('9780441172719', 'Dune')")
  }
  remote.fail(RemoteError(.unauthorized, "the token was revoked"))
  let error = await #expect(throws: RemoteError.self) { try await phone.engine.syncOnce() }
  #expect(error?.code == .unauthorized)
  #expect(phone.engine.status.current.unpushed == 1)

  remote.fail(nil)
  try await phone.engine.syncOnce()
  #expect(phone.engine.status.current.unpushed == 0)
}

@Test func `a device whose clock is an hour ahead is corrected`() async throws {
  let remote = MemoryRemote(now: { Date.now - 3600 })
  let phone = try await LibraryDevice(remote)
  try await phone.database.write { db in
    try db.execute(sql: "INSERT INTO book VALUES ('9780441172719', 'Dune')")
  }
  try await phone.engine.syncOnce()
  #expect(remote.operations.count == 1)
  #expect(try #require(phone.engine.status.current.clockOffset) < .seconds(-3500))
}

@Test func `a push may have no limit of its own`() async throws {
  let remote = MemoryRemote()
  let phone = try await LibraryDevice(remote, SyncEnvironment(pushBytes: .max))
  for title in ["Dune", "Emma"] {
    try await phone.database.write { db in
      try db.execute(sql: "INSERT INTO book VALUES (?, ?)", arguments: [title, title])
    }
    try await phone.engine.syncOnce()
  }
  #expect(remote.operations.count == 2)
}
