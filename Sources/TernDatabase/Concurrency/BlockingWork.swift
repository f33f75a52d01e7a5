/// Runs what blocks on SQLite on a thread of its own, and not on the language's.
package actor BlockingWork {
  package static let shared = BlockingWork(label: "tern.database")

  private let executor: DatabaseExecutor

  package nonisolated var unownedExecutor: UnownedSerialExecutor {
    executor.asUnownedSerialExecutor()
  }

  package init(label: String) {
    executor = DatabaseExecutor(label: label)
  }

  package func run<T: Sendable>(_ body: @Sendable () throws -> T) throws -> T {
    try body()
  }
}
