import Foundation

/// Something that happens once and for which both a task and a server's thread can wait.
final class Signal: Sendable {
  private let stream: AsyncStream<Void>
  private let continuation: AsyncStream<Void>.Continuation
  private let semaphore = DispatchSemaphore(value: 0)

  init() {
    (stream, continuation) = AsyncStream.makeStream()
  }

  func fire() {
    continuation.finish()
    semaphore.signal()
  }

  func wait() async {
    for await _ in stream {}
  }

  /// For threads only, any number of them.
  func block() {
    semaphore.wait()
    // For the next one who waits.
    semaphore.signal()
  }
}
