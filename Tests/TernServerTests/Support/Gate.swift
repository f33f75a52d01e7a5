#if Server
import Dispatch
import Synchronization
import TernServer

/// Lets writes through while it is open, and remembers their spaces in the order in which they came.
final class Gate: Sendable {
  private let door = DispatchSemaphore(value: 1)
  private let seen = Mutex<[SpaceName]>([])

  var spaces: [SpaceName] { seen.withLock { $0 } }

  func pass(_ space: SpaceName) {
    seen.withLock { $0.append(space) }
    door.wait()
    door.signal()
  }

  /// What came before counts no more.
  func close() {
    door.wait()
    seen.withLock { $0 = [] }
  }

  func open() { door.signal() }
}
#endif
