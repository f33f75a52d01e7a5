#if Server
import NIOCore
import Synchronization
import TernCore

/// Pages that are read once for all who wait for the same: after a push, every device that listens
/// asks for it at once.
///
/// Whoever asks after a page has begun to be read waits for another one, which has what was pushed
/// before they asked.
final class SharedPages: Sendable {
  /// A page, packed.
  struct Page: Sendable {
    let page: PulledPage
    let body: ByteBuffer
    let authors: Set<ReplicaID>

    init(_ page: PulledPage) {
      self.page = page
      body = ByteBuffer(bytes: OperationBatch(page.operations).encoded())
      authors = Set(page.operations.lazy.map(\.envelope.replica))
    }
  }

  private struct Key: Hashable {
    let space: SpaceName
    let cursor: RemoteCursor?
  }

  private struct Waiting {
    let number: Int
    let task: Task<Page, any Error>
    var count = 1
  }

  private struct State {
    var waiting: [Key: Waiting] = [:]
    var numbered = 0
  }

  private let queue: StoreQueue
  private let state = Mutex(State())

  init(queue: StoreQueue) { self.queue = queue }

  /// - Parameters:
  ///   - excluded: whose operations are left out.
  ///   - read: reads the page, of which it leaves out those of a replica. On a thread of the queue.
  /// - Throws: As ``StoreQueue/page(of:_:)`` does.
  func page(
    of space: SpaceName, after cursor: RemoteCursor?, excluding excluded: ReplicaID?,
    _ read: @escaping @Sendable (_ excluded: ReplicaID?) throws -> PulledPage
  ) async throws -> Page {
    try ProcessorAccounts.current?.check()
    let key = Key(space: space, cursor: cursor)
    let task = state.withLock { state in
      if let task = state.waiting[key]?.task {
        state.waiting[key]?.count += 1
        return task
      }
      let number = state.numbered
      // An injected default: a simulation asks the service itself. No asker's end is the others'.
      let task = Task { [self] in
        // Where it has no turn, nobody else waits for it either.
        defer { _ = begin(key, number) }
        // It costs whoever was first.
        return try await queue.page(of: space) {
          let isShared = begin(key, number) > 1
          if !isShared { try ProcessorAccounts.current?.check() }
          return isShared
        } reading: { isShared in
          Page(try read(isShared ? nil : excluded))
        }
      }
      state.waiting[key] = Waiting(number: number, task: task)
      state.numbered += 1
      return task
    }
    let page = try await task.value
    guard let excluded, page.authors.contains(excluded) else { return page }
    return try await queue.page(of: space) { Page(try read(excluded)) }
  }

  /// How many wait for a page that nobody has begun to read.
  var waitingCount: Int { state.withLock { $0.waiting.values.reduce(0) { $0 + $1.count } } }

  /// From here on nobody joins. Returns how many have.
  private func begin(_ key: Key, _ number: Int) -> Int {
    state.withLock { state in
      guard let waiting = state.waiting[key], waiting.number == number else { return 0 }
      state.waiting[key] = nil
      return waiting.count
    }
  }
}
#endif
