#if Server
import Foundation
import GRDB
import TernCore
import Testing

@testable import TernServer

@Suite("SQLite: a server's data file")
struct SQLiteFileTests {
  let folder: TemporaryFolder
  let path: String
  let clock = HandClock()

  init() throws {
    folder = try TemporaryFolder()
    path = folder.path("server.tern")
  }

  private func service(_ store: SQLiteSpaceStore) -> SpaceService {
    SpaceService(store: store, clock: clock.clock)
  }

  @Test("opening it again keeps everything")
  func reopened() throws {
    let first = try openStore(path)
    var (ada, generator) = (Author(1), SeededGenerator(state: 5))
    let operations = ada.write(count: 3)
    _ = try service(first).push(operations, to: .home)
    let token = try service(first).createToken(for: .home, using: &generator)
    let (cursor, epoch) = (try service(first).pull(from: .home, after: nil).cursor, first.epoch)
    try first.close()

    let second = try openStore(path, seed: 99)
    #expect(second.epoch == epoch)
    #expect(try everything(service(second)) == operations)
    try service(second).authorize(token, for: .home)
    #expect(try service(second).push(operations, to: .home).accepted == 0)
    #expect(try service(second).pull(from: .home, after: cursor).operations.isEmpty)
    try expectHealthy(second)
  }

  @Test("INV-03: an older copy put back makes newer cursors unknown, to streams as well")
  func restored() throws {
    let first = try openStore(path)
    var (ada, bob) = (Author(1), Author(2))
    _ = try service(first).push([ada.write()], to: .home)
    let old = try service(first).pull(from: .home, after: nil).cursor
    try first.close()
    try FileManager.default.copyItem(atPath: path, toPath: folder.path("backup"))
    let second = try openStore(path)
    _ = try service(second).push([ada.write()], to: .home)
    let new = try service(second).pull(from: .home, after: nil).cursor
    try second.close()
    try FileManager.default.removeItem(atPath: path)
    try FileManager.default.copyItem(atPath: folder.path("backup"), toPath: path)

    let restored = try openStore(path)
    let third = service(restored)
    #expect(refusal { _ = try third.pull(from: .home, after: new) }?.code == .cursorUnknown)
    let other = bob.write()
    _ = try third.push([other], to: .home)
    #expect(refusal { _ = try third.pull(from: .home, after: new) }?.code == .cursorUnknown)
    #expect(try third.pull(from: .home, after: old).operations == [other])
    // The position is the same, and no event would say more.
    #expect(refusal { _ = try third.listen(to: .home, after: new) }?.code == .cursorUnknown)
    #expect(try third.listen(to: .home, after: old).listener.told.position == 2)
    try expectHealthy(restored)
  }

  @Test("two stores that push into one file at once leave no hole")
  func concurrent() async throws {
    let path = path
    let clock = clock.clock
    let stores = [try openStore(path), try openStore(path)]
    try await withThrowingTaskGroup(of: Void.self) { group in
      for (index, store) in stores.enumerated() {
        group.addTask {
          let service = SpaceService(store: store, clock: clock)
          var author = Author(UInt64(index + 1))
          for _ in 0..<50 { _ = try service.push(author.write(count: 2), to: .home) }
        }
      }
      try await group.waitForAll()
    }
    #expect(try service(stores[0]).greet(.home).position == 200)
    let operations = try everything(service(stores[1]))
    for author in 1...2 as ClosedRange<UInt64> {
      let own = operations.map(\.envelope).filter { $0.replica == Author(author).replica }
      #expect(own.map(\.sequence) == Array(1...100))
    }
    let positions = try await DatabaseQueue(path: path).read {
      try Int64.fetchAll($0, sql: "SELECT position FROM operation ORDER BY position")
    }
    #expect(positions == Array(1...200))
    try expectHealthy(stores[0])
  }

  @Test("a refused push leaves no row")
  func refused() throws {
    let store = try openStore(path)
    var ada = Author(1)
    let operations = ada.write(count: 3)
    #expect(
      refusal { _ = try service(store).push([operations[0], operations[2]], to: .home) } != nil)
    try store.close()
    let rows = try DatabaseQueue(path: path).read { db in
      try ["space", "operation", "head"].map {
        try Int.fetchOne(db, sql: "SELECT count(*) FROM \($0)")
      }
    }
    #expect(rows == [0, 0, 0])
  }

  @Test("commits are synced before they are acknowledged")
  func durability() throws {
    let store = try openStore(path)
    #expect(try store.synchronousSetting() == 2)
  }

  @Test("a token is nowhere in the file")
  func secret() throws {
    let store = try openStore(path)
    var generator = SeededGenerator(state: 5)
    let token = try service(store).createToken(for: .home, using: &generator)
    try store.close()
    let bytes = try Data(contentsOf: URL(fileURLWithPath: path))
    #expect(bytes.range(of: Data("home".utf8)) != nil)
    #expect(bytes.range(of: Data(token.dropFirst(5).utf8)) == nil)
  }
}
#endif
