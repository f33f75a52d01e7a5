import UnixSignals

/// Runs the parts of a program until one of them ends, or SIGTERM or SIGINT comes; that ends the others.
///
/// - Parameter stopped: what a signal throws.
/// - Throws: the first error that is no cancellation.
package func untilOneEnds(
  stopped: (any Error)? = nil, _ parts: [@Sendable () async throws -> Void]
) async throws {
  let signals = await UnixSignalsSequence(trapping: .sigterm, .sigint)
  try await withThrowingTaskGroup(of: Void.self) { tasks in
    tasks.addTask { for await _ in signals { if let stopped { throw stopped } else { return } } }
    for part in parts { tasks.addTask(operation: part) }
    var results = [await tasks.nextResult()]
    tasks.cancelAll()
    while let result = await tasks.nextResult() { results.append(result) }
    for result in results { do { try result?.get() } catch is CancellationError {} }
  }
}
