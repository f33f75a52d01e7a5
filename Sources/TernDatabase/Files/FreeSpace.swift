import Foundation

/// What a disk has left.
package enum FreeSpace {
  /// How many bytes this process may still write to the disk that holds a path; `nil` where the
  /// system does not say.
  package static func bytes(at path: String) -> Int? {
    var status = statvfs()
    let folder = (path as NSString).deletingLastPathComponent
    guard statvfs(folder.isEmpty ? "." : folder, &status) == 0 else { return nil }
    let (bytes, isOver) = UInt64(status.f_bavail)
      .multipliedReportingOverflow(by: UInt64(status.f_frsize))
    return isOver ? nil : Int(clamping: bytes)
  }
}
