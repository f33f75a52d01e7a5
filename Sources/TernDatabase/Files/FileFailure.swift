import Foundation

/// What the system refused to do with a file. Names the operation, not the path.
package struct FileFailure: Error, Hashable, Sendable, CustomStringConvertible {
  package let operation: String
  /// As in `errno`.
  package let code: CInt

  package init(_ operation: String, _ code: CInt = errno) {
    self.operation = operation
    self.code = code
  }

  /// The disk, or what this user may use of it, is full.
  package var isDiskFull: Bool { code == ENOSPC || code == EDQUOT }

  package var description: String { "\(operation) failed: \(String(cString: strerror(code)))" }
}
