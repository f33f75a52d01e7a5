/// Runs what blocks on SQLite on a thread of its own, and not on the language's.
package actor BlockingWork {
  package static let shared = BlockingWork(label: "tern.database")

  private let executor: any SerialExecutor

  package nonisolated var unownedExecutor: UnownedSerialExecutor {
    executor.asUnownedSerialExecutor()
  }

  package init(label: String) {
    executor = DatabaseExecutor(label: label)
  }

  /// Where a test or a simulation decides what runs.
  package init(executor: any SerialExecutor) {
    self.executor = executor
  }

  package func run<T: Sendable>(_ body: @Sendable () throws -> T) throws -> T {
    try body()
  }
}
