#if Server
import Foundation
import TernDatabase

/// A file beside a server's data that holds nothing but room: when the disk is full it gives way,
/// so that the data can be opened, and spaces deleted.
package struct ReserveFile {
  private static let bytes = 8 << 20

  private let path: String

  package init(dataPath: String) {
    path = ServerFile(path: dataPath).path + "-reserve"
  }

  /// Makes it where it is not there; without it, what it is for may fail.
  ///
  /// - Throws: `FileFailure`, with nothing left of it.
  package func make() throws {
    guard !FileManager.default.fileExists(atPath: path) else { return }
    let bytes = [UInt8](repeating: 0xFF, count: Self.bytes)
    try bytes.withUnsafeBytes { try DurableFile(isSynced: true).create(path, $0) }
  }

  /// Gives its room away. Returns whether there was any.
  package func release() -> Bool { unlink(path) == 0 }
}
#endif
