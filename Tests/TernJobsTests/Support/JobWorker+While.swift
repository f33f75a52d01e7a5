import Tern

extension JobWorker {
  /// Runs while `body` does, and is cancelled then.
  func run(while body: () async throws -> Void) async throws {
    try await withThrowingDiscardingTaskGroup { group in
      group.addTask { try await self.run() }
      try await body()
      group.cancelAll()
    }
  }
}
