#if Server
import Foundation
import GRDB
import Synchronization
import TernCore
import Testing

@testable import TernServer

@Suite("SQLite: a backup of a server's file", .timeLimit(.minutes(2)))
struct BackupTests {
  /// Pushes one operation after the other, with nothing in between, until it is told to end.
  private final class Writer: Sendable {
    let service: SpaceService
    private let state = Mutex((pushed: UInt64(0), hasEnded: false))

    init(_ service: SpaceService) { self.service = service }

    var pushed: UInt64 { state.withLock { $0.pushed } }

    func end() { state.withLock { $0.hasEnded = true } }

    func run() throws {
      var ada = Author(1)
      while !state.withLock({ $0.hasEnded }) {
        _ = try service.push([ada.write(String(repeating: "x", count: 500))], to: .home)
        state.withLock { $0.pushed += 1 }
      }
    }
  }

  @Test("VACUUM INTO ends while pushes go on, and the copy has all that was acknowledged before")
  func busy() async throws {
    let folder = try TemporaryFolder()
    let (path, copy) = (folder.path("server.tern"), folder.path("backup.tern"))
    let store = try openStore(path)
    let service = SpaceService(store: store, clock: HandClock().clock)
    var bob = Author(2)
    // Long enough for pushes to come meanwhile.
    _ = try service.push(bob.write(count: 2_000, bytes: 5_000), to: .home)
    let writer = Writer(service)
    let (before, during) = try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try writer.run() }
      while writer.pushed < 300 { await Task.yield() }
      let before = writer.pushed
      // What `sqlite3 FILE "VACUUM INTO 'COPY'"` does.
      let visitor = try DatabaseQueue(path: path)
      try await visitor.writeWithoutTransaction {
        try $0.execute(sql: "VACUUM INTO ?", arguments: [copy])
      }
      let during = writer.pushed
      writer.end()
      try await group.waitForAll()
      try visitor.close()
      return (before, during)
    }
    // Otherwise this showed nothing.
    #expect(during > before)
    let restored = try openStore(copy)
    #expect(restored.epoch == store.epoch)
    let served = SpaceService(store: restored, clock: HandClock().clock)
    let kept = try everything(served)
    let acknowledged = try served.greet(.home).heads[Author(1).replica]
    #expect((before...writer.pushed).contains(acknowledged))
    #expect(try everything(service).starts(with: kept))
    #expect(kept.count == 2_000 + Int(acknowledged))
    try restored.close()
    let whole = try DatabaseQueue(path: copy)
    #expect(try await whole.read { try String.fetchOne($0, sql: "PRAGMA integrity_check") } == "ok")
    try whole.close()
    let inspected = try TernProcess.run("inspect", copy)
    #expect(inspected.code == 0)
    #expect(inspected.output.contains(store.epoch))
    // It is not written over.
    #expect(throws: DatabaseError.self) {
      try DatabaseQueue(path: path).writeWithoutTransaction {
        try $0.execute(sql: "VACUUM INTO ?", arguments: [copy])
      }
    }
  }
}
#endif
