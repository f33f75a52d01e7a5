import Dispatch

/// A serial executor over one dispatch queue: where Tern blocks on SQLite, away from the threads
/// that the language's own executor counts on to make progress.
package final class DatabaseExecutor: SerialExecutor {
  private let queue: DispatchQueue

  package init(label: String) {
    queue = DispatchQueue(label: label)
  }

  package func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    let executor = asUnownedSerialExecutor()
    queue.async { job.runSynchronously(on: executor) }
  }
}
