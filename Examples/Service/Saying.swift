import Foundation

/// A line on standard output, at once: whoever reads it may act on it, even with `kill -9`.
package func say(_ line: String) {
  FileHandle.standardOutput.write(Data((line + "\n").utf8))
}

/// Why a command does nothing.
package struct Refusal: Error, CustomStringConvertible {
  package let description: String

  package init(_ description: String) { self.description = description }
}
