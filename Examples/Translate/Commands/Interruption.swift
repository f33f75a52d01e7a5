import Dispatch
import Foundation
import Synchronization

/// Whether somebody wants the command to end, by SIGINT or SIGTERM.
enum Interruption {
  private static let asked = Atomic(false)
  private static let written = Atomic<CInt>(-1)

  static var isAsked: Bool { asked.load(ordering: .relaxed) }

  /// A pipe in which a byte stands, for ever, once the command is to end.
  private static let pipe = {
    var ends: [CInt] = [-1, -1]
    // Without one, signals are seen at the next second only.
    guard Foundation.pipe(&ends) == 0 else { return (read: CInt(-1), write: CInt(-1)) }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    return (read: ends[0], write: ends[1])
  }()

  /// To be polled: it can be read once the command is to end.
  static var descriptor: CInt { pipe.read }

  /// From now on the first signal lets the command end by itself, with everything saved; the second
  /// ends it as ever.
  static func trap() {
    // Made before a signal comes: in a handler nothing can be made.
    asked.store(false, ordering: .relaxed)
    written.store(pipe.write, ordering: .relaxed)
    for number in [SIGINT, SIGTERM] {
      signal(number) {
        signal($0, SIG_DFL)
        Interruption.asked.store(true, ordering: .relaxed)
        var byte: UInt8 = 0
        // A full pipe tells as much.
        _ = write(Interruption.written.load(ordering: .relaxed), &byte, 1)
      }
    }
  }

  /// One element, once the command is to end.
  static func requests() -> AsyncStream<Void> {
    AsyncStream { continuation in
      guard descriptor >= 0 else { return }
      // Told of the end from any thread, which a source bears.
      nonisolated(unsafe) let source = DispatchSource.makeReadSource(fileDescriptor: descriptor)
      source.setEventHandler {
        continuation.yield()
        source.cancel()
      }
      source.activate()
      continuation.onTermination = { _ in source.cancel() }
    }
  }
}
