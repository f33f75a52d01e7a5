#if Server
import Foundation
import GRDB
import TernCore
import Testing

@testable import TernServer

@Suite("HTTP: a disk that takes nothing more")
struct FullDiskTests {
  private static let day: Int64 = 24 * 3600 * 1000
  private let folder: TemporaryFolder
  private let store: SQLiteSpaceStore

  init() throws {
    folder = try TemporaryFolder()
    store = try openStore(folder.path("server.tern"))
  }

  private func setReadOnly(_ isReadOnly: Bool) throws {
    try store.pool.writeWithoutTransaction {
      try $0.execute(sql: "PRAGMA query_only = \(isReadOnly ? 1 : 0)")
    }
  }

  /// Lets the file grow no more.
  private func fill() throws {
    try store.pool.writeWithoutTransaction {
      _ = try Int.fetchOne($0, sql: "PRAGMA max_page_count = 1")
    }
  }

  @Test("a device that goes on pulling is given pages though its lease can't be written down")
  func lease() async throws {
    let clock = HandClock()
    try await LiveServer.run(clock: clock, store: store) { server async throws in
      let (bob, eve) = (ReplicaID(high: 2, low: 2), ReplicaID(high: 3, low: 3))
      func pull(_ replica: ReplicaID, after cursor: String = "") async throws -> Answer {
        try await server.send(
          server.request(
            "/v1/spaces/home/operations?excluding=\(replica)"
              + (cursor.isEmpty ? "" : "&after=\(cursor)")))
      }
      var ada = Author(1)
      _ = try await server.push(ada.write(count: 2))
      let first = try await pull(bob)
      let cursor = try #require(first.header("Tern-Cursor"))
      clock.now += Self.day + 1
      try setReadOnly(true)
      #expect(try await pull(bob, after: cursor).status == 200)
      // A lease that is new or goes back holds the horizon back only when it is written.
      #expect(try await pull(eve).status == 503)
      #expect(try await pull(bob).status == 503)
      try setReadOnly(false)
      #expect(try await pull(bob, after: cursor).status == 200)
      #expect(try store.lease(of: bob, in: .home)?.position == 2)
    }
  }

  @Test("a push that finds it full is refused without a time, so that the device pulls on")
  func push() async throws {
    try await LiveServer.run(store: store) { server async throws in
      try fill()
      let answer = try await server.push([LongAnswerTests.operation(bytes: 300_000)])
      #expect((answer.status, answer.problem) == (503, "unavailable"))
      #expect(answer.header("Retry-After") == nil)
      let page = try await server.send(server.request("/v1/spaces/home/operations"))
      #expect(page.status == 200)
    }
  }
}
#endif
