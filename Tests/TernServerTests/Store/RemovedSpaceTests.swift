#if Server
import Foundation
import GRDB
import TernCore
import Testing

@testable import TernServer

@Suite("Store: a removed space", .timeLimit(.minutes(1)))
struct RemovedSpaceTests {
  /// One row at least of everything that a space can have.
  private func fill(_ service: SpaceService) throws -> String {
    var (ada, generator) = (Author(1), SeededGenerator(state: 4))
    _ = try service.push(ada.write(count: 3), to: .home)
    let cursor = try service.end()
    _ = try service.pull(from: .home, after: cursor, excluding: ReplicaID(high: 2, low: 2))
    try service.upload(SnapshotOffer(at: cursor, of: [ada]))
    try service.report(
      StateReport(
        replica: ada.replica, cursor: cursor, operations: 1, isRepaired: false,
        tables: ["book": .init(shape: 1, rows: 1)]), in: .home)
    return try service.createToken(for: .home, using: &generator)
  }

  @Test("it goes with everything in it, and no other does", arguments: StoreKind.allCases)
  func whole(kind: StoreKind) throws {
    let opened = try kind.open()
    let service = opened.service()
    var (bob, generator) = (Author(2), SeededGenerator(state: 5))
    let token = try fill(service)
    let other = try service.createToken(for: .work, using: &generator)
    _ = try service.push([bob.write()], to: .work)

    #expect(try service.removeSpace(.home))
    #expect(try !service.removeSpace(.home))
    #expect(try service.store.spaces() == [.work])
    #expect(try service.store.tokens().map(\.space) == [.work])
    #expect(refusal { try service.authorize(token, for: .home) }?.code == .unauthorized)
    let greeting = try service.greet(.home)
    #expect((greeting.position, greeting.snapshot == nil) == (0, true))
    try service.authorize(other, for: .work)
    #expect(try everything(service, .work).count == 1)
  }

  @Test("nothing of it is left in the file")
  func rows() throws {
    let folder = try TemporaryFolder()
    let store = try openStore(folder.path("server.tern"))
    let tables = [
      "space", "operation", "head", "token", "snapshot", "snapshot_part", "lease", "mark", "state",
    ]
    func counts() throws -> [Int?] {
      try store.pool.read { db in
        try tables.map { try Int.fetchOne(db, sql: "SELECT count(*) FROM \($0)") }
      }
    }
    _ = try fill(SpaceService(store: store, clock: HandClock().clock))
    #expect(try counts().allSatisfy { $0 ?? 0 > 0 })
    #expect(try SpaceService(store: store, clock: HandClock().clock).removeSpace(.home))
    #expect(try counts().allSatisfy { $0 == 0 })
    try expectHealthy(store)
  }

  @Test("a push that was let in before it was removed doesn't make it again")
  func late() async throws {
    let folder = try TemporaryFolder()
    let store = try openStore(folder.path("server.tern"))
    try await LiveServer.run(store: store) { server async throws in
      var ada = Author(1)
      let body = OperationBatch([ada.write()]).encoded()
      let client = try RawClient(server)
      let head = server.head(
        "POST", "/v1/spaces/home/operations", "Content-Length: \(body.count)\r\n")
      #expect(await client.send(Array(head.utf8) + body.prefix(1)))
      while server.application.received.used == 0 { await Task.yield() }
      // As by the command, in another process.
      #expect(try openStore(folder.path("server.tern")).removeSpace(.home))
      #expect(await client.send(Array(body.dropFirst())))
      #expect(await client.head().status == 401)
      #expect(try store.spaces().isEmpty)
      let answer = try await server.send(server.request("/v1/spaces/home"))
      #expect((answer.status, answer.problem) == (401, "unauthorized"))
    }
  }
}
#endif
