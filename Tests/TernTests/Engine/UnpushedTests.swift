import Tern
import TernTesting
import Testing

/// What the status says of operations that wait, also while nobody can be asked.
@Suite("Engine: operations that wait to be pushed", .timeLimit(.minutes(1)))
struct UnpushedTests {
  private func write(_ title: String, _ phone: LibraryDevice) async throws {
    try await phone.database.write { db in
      try db.execute(sql: "INSERT INTO book VALUES (?, ?)", arguments: [title, title])
    }
  }

  private static let offline = RemoteError(.unreachable, "there is no network")

  @Test func `what is written while a run waits is counted`() async throws {
    let remote = FailingRemote(MemoryRemote())
    let hour = Backoff(base: .seconds(3600), limit: .seconds(3600))
    let phone = try await LibraryDevice(remote, SyncEnvironment(backoff: hour, jitter: { 1 }))
    try await phone.engine.syncOnce()
    remote.fail(Self.offline)
    async let _: Void = phone.engine.run()  // until the test ends
    #expect(await phone.engine.status.updates.contains { $0.phase == .waiting })
    for count in 1...2 {
      try await write("\(count)", phone)
      #expect(await phone.engine.status.updates.contains { $0.unpushed == count })
    }
    #expect(try await phone.replica.counts().unsealedChanges == 0)
  }

  @Test func `an engine that was just made does not count what the remote has`() async throws {
    let space = MemoryRemote()
    let remote = FailingRemote(space)
    let phone = try await LibraryDevice(remote)
    let other = try await LibraryDevice(space)
    try await write("of another", other)
    try await other.engine.syncOnce()
    for title in ["1", "2", "3"] {
      try await write(title, phone)
      try await phone.engine.syncOnce()
    }
    remote.fail(Self.offline)
    try await write("4", phone)
    let engine = SyncEngine(phone.replica, remote: remote)
    await #expect(throws: RemoteError.self) { try await engine.syncOnce() }
    #expect(engine.status.current.unpushed == 1)
    remote.fail(nil)
    try await engine.syncOnce()
    #expect(engine.status.current.unpushed == 0 && space.operations.count == 5)
  }
}
