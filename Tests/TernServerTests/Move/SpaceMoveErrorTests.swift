#if Server
import Foundation
import GRDB
import TernCore
import Testing

@testable import TernServer

@Suite("Move: what is refused", .timeLimit(.minutes(4)))
struct SpaceMoveErrorTests {
  private func code(_ move: SpaceMove) -> SpaceMoveError.Code? {
    do {
      try move.run()
      return nil
    } catch {
      return (error as? SpaceMoveError)?.code
    }
  }

  @Test func `ends that can't be`() throws {
    let stores = try MovingStores(.fileToFile)
    #expect(code(SpaceMove(.home, from: stores.from, to: stores.from)) == .sameStore)
    #expect(code(stores.move(SpaceName(stored: "none"))) == .absent)
    #expect(try stores.to.spaces().isEmpty)
    try stores.to.update(.home) { _ in }
    #expect(code(stores.move()) == .taken)
    #expect(try stores.from.summary(of: .home).standing.phase == .served)
  }

  @Test func `a token that opens another space there`() throws {
    let stores = try MovingStores(.fileToFile)
    let digest = TokenDigest(token: stores.token)
    let known = TokenRecord(digest: digest, space: .work, created: stores.target.clock.date)
    try stores.to.update(.work) { try $0.add(known) }
    #expect(code(stores.move()) == .taken)
    let service = stores.service(of: stores.target)
    #expect(try service.revoke(stores.token))
    #expect(code(stores.move()) == nil)
  }

  @Test func `a third store, until the move is taken back`() throws {
    let stores = try MovingStores(.fileToFile)
    let third = try StoreKind.sqlite.open(seed: 3)
    let other = SpaceMove(.home, from: stores.from, to: MovingStores.movable(third))
    #expect(throws: Killed.self) {
      try stores.move { if $0 == .open { throw Killed() } }.run()
    }
    #expect(code(other) == .elsewhere)
    #expect(code(SpaceMove(.home, from: stores.to, to: other.target)) == .elsewhere)
    let error = #expect(throws: SpaceMoveError.self) { try other.cancel() }
    #expect(error?.code == .elsewhere)
    try stores.move().cancel()
    #expect(code(other) == nil)
    #expect(code(stores.move()) == .elsewhere)
  }

  @Test func `a target that is lost for good`() throws {
    let stores = try MovingStores(.fileToFile)
    #expect(throws: Killed.self) {
      try stores.move { if $0 == .settle { throw Killed() } }.run()
    }
    try SpaceMove.serveAgain(.home, in: stores.from)
    #expect(try stores.from.summary(of: .home).standing == SpaceStanding(epoch: stores.from.epoch))
    let error = #expect(throws: SpaceMoveError.self) {
      try SpaceMove.serveAgain(.home, in: stores.from)
    }
    #expect(error?.code == .over)
    // What is left there does not take part in another move.
    #expect(code(stores.move()) == .taken)
    try stores.move().cancel()
    #expect(code(stores.move()) == nil)
  }

  @Test func `operations and parts that are damaged`() throws {
    let harms = [
      "UPDATE operation SET bytes = x'01' WHERE space = 1 AND position = 9",
      "UPDATE operation SET chain = zeroblob(32) WHERE space = 1 AND position = 4",
      "DELETE FROM operation WHERE space = 1 AND position = 7",
      "UPDATE snapshot_part SET digest = zeroblob(32) WHERE part = 1",
    ]
    for harm in harms {
      let stores = try MovingStores(.fileToFile)
      let file = try #require(stores.from as? SQLiteSpaceStore)
      let path = file.pool.path
      let backup = try DatabaseQueue()
      try file.pool.backup(to: backup)
      let queue = try DatabaseQueue(path: path)
      try queue.write { try $0.execute(sql: harm) }
      #expect(code(stores.move()) == .damaged, "\(harm)")
      // Until then it is served where it is.
      #expect(try stores.from.summary(of: .home).standing.phase == .leaving)
      try stores.move().cancel()
      try backup.backup(to: queue)
      try queue.close()
    }
  }

  @Test func `a store with as many spaces as it may have, and a disk without room`() throws {
    let stores = try MovingStores(.fileToFile)
    var limits = ServerLimits()
    limits.spaces = 0
    let full = SpaceMove(.home, from: stores.from, to: stores.to, limits: limits)
    #expect(refusal { try full.run() }?.code == .tooManySpaces)
    var asked = 0
    let short = SpaceMove(.home, from: stores.from, to: stores.to) { bytes in
      asked += bytes
      throw RemoteError(.unavailable, "no room")
    }
    #expect(refusal { try short.run() }?.code == .unavailable)
    #expect(asked > 0)
    #expect(code(stores.move()) == nil)
  }

  @Test func `dropping a base while its space is copied`() throws {
    let stores = try MovingStores(.fileToFile, others: true)
    let service = stores.service(of: stores.source)
    let base = try #require(try service.greet(.work).snapshot?.id)
    var refused: RemoteError?
    try stores.move(.work) { step in
      if step == .copySnapshots, refused == nil {
        refused = refusal { try service.dropSnapshot(base, in: .work) }
      }
    }.run()
    #expect(refused?.code == .unavailable && refused?.message.contains("--cancel") ?? false)
    try stores.service(of: stores.target).dropSnapshot(base, in: .work)
  }
}
#endif
