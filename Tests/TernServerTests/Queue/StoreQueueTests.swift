#if Server
import Dispatch
import Foundation
import Logging
import Synchronization
import TernCore
import Testing

@testable import TernServer

@Suite("Queue: writes that wait", .timeLimit(.minutes(1)))
struct StoreQueueTests {
  /// What becomes of a write behind one that goes on for a while, as where another process has the
  /// file's lock: whether it was tried, and its error.
  private func writeBehind(
    _ meanwhile: (HandInstant, Task<Void, any Error>) -> Void
  ) async throws -> (wasTried: Bool, error: (any Error)?) {
    let flag = SetOnce()
    let error = try await errorBehind(
      { queue in try await queue.write(to: .home) { flag.set() } }, meanwhile)
    return (flag.isSet, error)
  }

  private func errorBehind(
    _ write: @escaping @Sendable (StoreQueue) async throws -> Void,
    _ meanwhile: (HandInstant, Task<Void, any Error>) -> Void
  ) async throws -> (any Error)? {
    let clock = HandInstant()
    let queue = StoreQueue(waitingPerSpace: 64) { clock.look() }
    let door = DispatchSemaphore(value: 0)
    async let first: Void = queue.write(to: .home) { door.wait() }
    // As it was given to the queue, and as its turn came.
    while clock.looks < 2 { await Task.yield() }
    let second = Task { try await write(queue) }
    while queue.waitingWrites < 1 { await Task.yield() }
    meanwhile(clock, second)
    door.signal()
    try await first
    switch await second.result {
    case .success: return nil
    case .failure(let error): return error
    }
  }

  private final class SetOnce: Sendable {
    private let value = Mutex(false)
    var isSet: Bool { value.withLock { $0 } }
    func set() { value.withLock { $0 = true } }
  }

  @Test("one that has waited for as long as the lock is waited for is refused untried")
  func late() async throws {
    let (wasTried, error) = try await writeBehind { clock, _ in clock.pass(.seconds(11)) }
    #expect(!wasTried)
    let refusal = try #require(error as? RemoteError)
    #expect(refusal.code == .unavailable && refusal.retryAfter != nil)
  }

  @Test("one that has waited for less has its turn")
  func soon() async throws {
    let (wasTried, error) = try await writeBehind { clock, _ in clock.pass(.seconds(9)) }
    #expect(wasTried && error == nil)
  }

  @Test("a lease that can wait does, and keeps no page back", arguments: [true, false])
  func lease(canWait: Bool) async throws {
    var generator = SeededGenerator(state: 1)
    let logger = Logger(label: "tests") { _ in SwiftLogNoOpLogHandler() }
    let service = SpaceService(
      store: MemorySpaceStore(using: &generator), clock: HandClock().clock)
    let replica = Author(1).replica
    let renewal = LeaseRenewal(
      replica: replica, space: .home, lease: Lease(position: 3, renewed: Date(milliseconds: 1)),
      canWait: canWait)
    let error = try await errorBehind { queue in
      let responder = SyncResponder(
        maintenance: Maintenance(
          service: service, queue: queue, interval: .seconds(1), metrics: ServerMetrics(),
          logger: logger),
        authorizer: TokenAuthorizer(service: service), received: .ofRequests(), sent: .ofAnswers(),
        connections: ConnectionBook(limit: 1, limitPerAddress: 1),
        processors: ProcessorAccounts(allowance: .seconds(1)), metrics: ServerMetrics())
      try await responder.settle(renewal, logger)
    } _: { clock, _ in
      clock.pass(.seconds(11))
    }
    #expect((error as? RemoteError)?.code == (canWait ? nil : .unavailable))
    #expect(service.leases[.home, replica] == (canWait ? renewal.lease : nil))
  }

  @Test("one whose client left is not tried")
  func cancelled() async throws {
    let (wasTried, error) = try await writeBehind { _, task in task.cancel() }
    #expect(!wasTried && error is CancellationError)
  }
}
#endif
