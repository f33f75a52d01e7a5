#if Server
import Foundation
import Synchronization
import TernCore
import Testing

@testable import TernServer

@Suite("HTTP: pages that several ask for", .timeLimit(.minutes(1)))
struct SharedPagesTests {
  /// Pages of a service, whose reading a gate holds up.
  private final class Desk: Sendable {
    let gate = Gate()
    let service: SpaceService
    let queue: StoreQueue
    let pages: SharedPages
    private let readings = Mutex<[ReplicaID?]>([])

    init(waitingPerSpace: Int = 64) {
      var generator = SeededGenerator(state: 1)
      service = SpaceService(
        store: MemorySpaceStore(using: &generator), clock: HandClock().clock)
      queue = StoreQueue(waitingPerSpace: waitingPerSpace)
      pages = SharedPages(queue: queue)
    }

    /// Whose operations each page that was read leaves out.
    var read: [ReplicaID?] { readings.withLock { $0 } }

    func page(
      after cursor: RemoteCursor? = nil, for replica: ReplicaID
    ) async throws -> PulledPage {
      try await pages.page(of: .home, after: cursor, excluding: replica) { [self] excluded in
        readings.withLock { $0.append(excluded) }
        gate.pass(.home)
        return try service.page(of: .home, after: cursor, excluding: excluded)
      }.page
    }

    func waiters(_ count: Int) -> [Task<PulledPage, any Error>] {
      (0..<count).map { number in
        Task { try await page(for: Author(UInt64(number + 1)).replica) }
      }
    }
  }

  @Test func `whoever asks before it is read is given the same page, and no own operation`()
    async throws
  {
    let desk = Desk(waitingPerSpace: 1)
    var ada = Author(1)
    _ = try desk.service.push(ada.write(count: 3), to: .home)
    desk.gate.close()
    // One holds the space's only thread, or both.
    let busy = (0..<2).map { number in
      Task { try await desk.page(for: Author(UInt64(90 + number)).replica) }
    }
    while desk.read.isEmpty { await Task.yield() }
    let waiters = desk.waiters(50)
    while desk.pages.waitingCount < 50 { await Task.yield() }
    desk.gate.open()
    for task in busy { #expect(try await task.value.operations.count == 3) }
    for (number, task) in waiters.enumerated() {
      #expect(try await task.value.operations.count == (number == 0 ? 0 : 3))
    }
    // Two at most before, one for all, and one for the author of what is on it.
    #expect(desk.read.count <= 4)
    #expect(desk.read.last == Author(1).replica)
  }

  @Test func `INV-03: whoever asks after it has begun to be read is given what was pushed before`()
    async throws
  {
    let desk = Desk()
    var ada = Author(1)
    _ = try desk.service.push(ada.write(count: 1), to: .home)
    desk.gate.close()
    let early = Task { try await desk.page(for: Author(2).replica) }
    while desk.read.isEmpty { await Task.yield() }
    _ = try desk.service.push(ada.write(count: 1), to: .home)
    let late = Task { try await desk.page(for: Author(3).replica) }
    while desk.read.count + desk.pages.waitingCount < 2 { await Task.yield() }
    desk.gate.open()
    _ = try await early.value
    #expect(try await late.value.operations.count == 2)
    #expect(desk.read.count == 2)
  }

  @Test func `an error is for those who waited, and the next is read anew`() async throws {
    let desk = Desk()
    let wrong = RemoteCursor(rawValue: "wrong")
    for _ in 0..<2 {
      await #expect(throws: RemoteError.self) {
        try await desk.page(after: wrong, for: Author(2).replica)
      }
    }
    #expect(desk.read.count == 2)
    #expect(desk.pages.waitingCount == 0)
  }
}
#endif
