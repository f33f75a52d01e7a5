import Tern

extension Device {
  /// The first, or only, one.
  package var engine: SyncEngine { engines[0] }

  package func syncOnce() async throws {
    for engine in engines { try await engine.syncOnce() }
  }

  /// Runs engines while `body` runs.
  package static func run(_ devices: [Device], _ body: () async throws -> Void) async throws {
    try await withThrowingDiscardingTaskGroup { group in
      for engine in devices.flatMap(\.engines) { group.addTask { await engine.run() } }
      try await body()
      group.cancelAll()
    }
  }
}
