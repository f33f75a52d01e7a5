import Foundation

/// A line on standard output, at once: whoever reads it may act on it, even with `kill -9`. Where it
/// can't be written, on a full disk say, the program ends with 74, after saying so.
package func say(_ line: String) {
  say(line) { "The output can't be written: \($0.systemReason)" }
}

/// - Parameter complaint: what is said where the line can't be written.
package func say(_ line: String, complaint: (any Error) -> String) {
  do {
    try FileHandle.standardOutput.write(contentsOf: Data((line + "\n").utf8))
  } catch {
    // Where this can't be said either, the status says it.
    try? FileHandle.standardError.write(contentsOf: Data((complaint(error) + "\n").utf8))
    exit(Ending.disk.rawValue)
  }
}

/// A line for the person alone, on standard error; where it can't be said, nothing is lost.
package func hint(_ line: String) {
  try? FileHandle.standardError.write(contentsOf: Data("\(line)\n".utf8))
}

/// Why a command does nothing.
package struct Refusal: Error, CustomStringConvertible {
  package let description: String
  package let ending: Ending

  package init(_ description: String, _ ending: Ending = .usage) {
    (self.description, self.ending) = (description, ending)
  }
}
