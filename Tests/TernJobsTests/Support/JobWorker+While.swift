import Tern
import TernJobs
import TernNetwork

extension JobWorker {
  /// A worker that knows nothing of the network, so that nothing of this machine's decides a test.
  init(_ queue: JobQueue, concurrency: Int = 4, _ register: (inout JobHandlers) -> Void) {
    self.init(queue, concurrency: concurrency, path: UnknownPathSource(), register)
  }

  /// The same with uploads.
  init(
    _ queue: JobQueue, concurrency: Int = 4, transfers: (any BackgroundTransfers)?,
    _ register: (inout JobHandlers) -> Void
  ) {
    self.init(
      queue, concurrency: concurrency, path: UnknownPathSource(), transfers: transfers, register)
  }

  /// Runs while `body` does, and is cancelled then.
  func run(while body: () async throws -> Void) async throws {
    try await withThrowingDiscardingTaskGroup { group in
      group.addTask { try await self.run() }
      try await body()
      group.cancelAll()
    }
  }
}
