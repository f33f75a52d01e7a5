import Foundation

/// Files and folders that hold what is nobody else's business: only their owner may read them.
package enum OwnerOnly {
  package static let file: mode_t = 0o600
  package static let folder: mode_t = 0o700

  /// Makes an empty file where there is none: SQLite opens it as a new database, and gives what it
  /// puts beside it the same rights. Whoever opens it says what is wrong where this can't be done.
  package static func makeFile(_ path: String) {
    let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, file)
    if descriptor >= 0 { close(descriptor) }
  }

  /// Says that others than its owner may read or write a file; `nil` where nobody
  /// else may, or no file is.
  package static func complaint(of path: String) -> String? {
    var status = stat()
    guard stat(path, &status) == 0, status.st_mode & 0o077 != 0 else { return nil }
    let rights = String(status.st_mode & 0o777, radix: 8)
    return "others on this machine may open the file: its rights are \(rights)"
  }
}
