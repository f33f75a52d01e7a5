#if Server && Rehearsal
import TernTesting

/// What happened, a line an event: printed by a replay, and compared between two runs.
final class SimulationTrace {
  private let clock: VirtualClock
  private let isPrinting: Bool
  private(set) var count = 0
  var tally = Tally()
  /// FNV-1a over every line.
  private(set) var digest: UInt64 = 0xcbf2_9ce4_8422_2325

  init(clock: VirtualClock, isPrinting: Bool) {
    self.clock = clock
    self.isPrinting = isPrinting
  }

  func note(_ event: @autoclosure () -> String) {
    let line = "\(clock.milliseconds) \(event())"
    count += 1
    for byte in line.utf8 { digest = (digest ^ UInt64(byte)) &* 0x100_0000_01b3 }
    if isPrinting { print(line) }
  }
}

extension VirtualClock {
  var milliseconds: Int64 {
    let (seconds, attoseconds) = now.offset.components
    return seconds * 1000 + attoseconds / 1_000_000_000_000_000
  }
}
#endif
