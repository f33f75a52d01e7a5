import TernDatabase

/// The kernel's lock that one worker of a database holds.
struct WorkerLock {
  let queue: JobQueue

  /// - Throws: ``JobQueueError`` `.workerRunning`, `.fileFailed`.
  func take() throws -> FileLock {
    if let lock = try using({ try FileLock.attempt(queue.lockPath) }) { return lock }
    throw JobQueueError(
      .workerRunning, "another worker works on this database; one does at a time")
  }

  /// - Returns: `nil` when the task is cancelled first.
  func wait(isolation: isolated (any Actor)? = #isolation) async throws -> FileLock? {
    let environment = queue.environment
    // Kept open: each closing would be an event.
    var lock = try using { try FileLock.opened(queue.lockPath) }
    let events = queue.events(.closed)
    let interval = events == nil ? environment.pollInterval : environment.clockInterval
    let (stream, news) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    return try await withThrowingTaskGroup(of: Void.self) { group in
      defer { group.cancelAll() }
      if let events { group.addTask { for await _ in events { news.yield() } } }
      group.addTask {
        // The sleep throws when the task is cancelled, and then this ends.
        while (try? await environment.sleep(for: interval)) != nil { news.yield() }
      }
      var iterator = stream.makeAsyncIterator()
      repeat {
        // A dying process closes the file a moment before the kernel lets the lock go.
        for pause in [0, 1, 4, 16, 64] {
          // Cancelled, the loop ends.
          if pause > 0 { try? await environment.clock.sleep(for: .milliseconds(pause)) }
          // Somebody removed the file: who comes next takes the lock of another.
          if !lock.isOf(queue.lockPath) {
            lock = try using { try FileLock.opened(queue.lockPath) }
          }
          if try using({ try lock.attempt() }), lock.isOf(queue.lockPath) { return lock }
        }
      } while await iterator.next(isolation: isolation) != nil && !Task.isCancelled
      return nil
    }
  }

  private func using<T>(_ body: () throws -> T) throws -> T {
    do {
      return try body()
    } catch {
      throw JobQueueError(
        .fileFailed, "the worker's lock file cannot be used", underlyingError: error)
    }
  }
}
