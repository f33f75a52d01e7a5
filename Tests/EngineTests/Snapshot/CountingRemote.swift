#if Server
import Synchronization
import Tern

final class Counter: Sendable {
  private let count = Atomic<Int>(0)
  var value: Int { count.load(ordering: .relaxed) }
  @discardableResult func next() -> Int { count.add(1, ordering: .relaxed).newValue }
}

/// Counts the parts that are fetched or taken, and may change those that are fetched, or a greeting, or
/// refuse a push or a part.
struct CountingRemote: Remote {
  let remote: any Remote
  let counter: Counter
  let change: @Sendable ([UInt8]) -> [UInt8]
  let willPush: @Sendable () throws -> Void
  let willPut: @Sendable () throws -> Void
  let didGreet: @Sendable (inout RemoteGreeting) -> Void

  init(
    _ remote: any Remote, _ counter: Counter,
    change: @escaping @Sendable ([UInt8]) -> [UInt8] = { $0 },
    willPush: @escaping @Sendable () throws -> Void = {},
    willPut: @escaping @Sendable () throws -> Void = {},
    didGreet: @escaping @Sendable (inout RemoteGreeting) -> Void = { _ in }
  ) {
    (self.remote, self.counter, self.change) = (remote, counter, change)
    (self.willPush, self.willPut, self.didGreet) = (willPush, willPut, didGreet)
  }

  var id: String { remote.id }
  var keepsSnapshots: Bool { remote.keepsSnapshots }
  func greet(as replica: ReplicaID?) async throws -> RemoteGreeting {
    var greeting = try await remote.greet(as: replica)
    didGreet(&greeting)
    return greeting
  }
  func push(_ operations: [SyncOperation]) async throws -> PushReceipt {
    try willPush()
    return try await remote.push(operations)
  }
  func pull(after cursor: RemoteCursor?, excluding excluded: ReplicaID) async throws -> PulledPage {
    try await remote.pull(after: cursor, excluding: excluded)
  }
  func positions(after cursor: RemoteCursor?) -> AsyncThrowingStream<UInt64, any Error> {
    remote.positions(after: cursor)
  }
  func snapshotPart(_ index: Int, of id: String) async throws -> [UInt8] {
    counter.next()
    return change(try await remote.snapshotPart(index, of: id))
  }
  func beginSnapshot(_ offer: SnapshotOffer) async throws -> SnapshotUpload {
    try await remote.beginSnapshot(offer)
  }
  func putSnapshotPart(_ bytes: [UInt8], index: Int, of id: String) async throws {
    try willPut()
    try await remote.putSnapshotPart(bytes, index: index, of: id)
    counter.next()
  }
  func completeSnapshot(_ id: String) async throws { try await remote.completeSnapshot(id) }
}
#endif
