#if os(Linux) || os(macOS)
import Foundation
import TestProcesses

/// One member's present life and what is remembered of the earlier ones.
struct FleetProcess {
  var process: ChildProcess?
  /// Lives that have ended.
  var deaths = 0
  /// Of a line that is not whole yet.
  private var pending: [UInt8] = []
  /// The newest write that was acknowledged, in any life.
  var acknowledged = 0
  var acknowledgedInThisLife = 0
  /// Whether this life has opened its file.
  var hasOpened = false
  var keptUnacknowledged = 0
  /// What the device had when it told last; `nil` while it may still write.
  var vector: String?

  mutating func begin(_ process: ChildProcess) {
    self.process = process
    pending = []
    acknowledgedInThisLife = 0
    hasOpened = false
    vector = nil
  }

  /// The lines that came since, or `nil` when it is dead.
  mutating func lines() -> [String]? {
    guard let bytes = process?.read() else { return nil }
    pending += bytes
    var lines: [String] = []
    while let end = pending.firstIndex(of: UInt8(ascii: "\n")) {
      lines.append(String(decoding: pending[..<end], as: UTF8.self))
      pending.removeSubrange(...end)
    }
    return lines
  }

  /// Takes note of its end: the signal or the exit status.
  mutating func end() -> CInt {
    guard let process else { return 0 }
    process.endInput()
    let status = process.wait()
    self.process = nil
    deaths += 1
    return status
  }
}
#endif
