import Foundation
import Synchronization
import TernDatabase

/// The paths of what was synced, in order.
final class Synced: Sendable {
  private let noted = Mutex<[String]>([])

  var paths: [String] { noted.withLock { $0 } }

  /// Files that take notes here, and wait for no disk.
  var file: DurableFile {
    DurableFile(
      isSynced: true,
      sync: { descriptor in
        let path = try? FileManager.default.destinationOfSymbolicLink(
          atPath: "/proc/self/fd/\(descriptor)")
        self.noted.withLock { $0.append(path ?? "none") }
        return 0
      })
  }
}
