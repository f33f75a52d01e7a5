import Foundation
import Synchronization

/// Whether somebody wants the command to end, by SIGINT or SIGTERM.
enum Interruption {
  private static let asked = Atomic(false)

  static var isAsked: Bool { asked.load(ordering: .relaxed) }

  /// From now on the first signal lets the command end by itself, with everything saved; the second
  /// ends it as ever.
  static func trap() {
    // Made before a signal comes: in a handler nothing can be made.
    asked.store(false, ordering: .relaxed)
    for number in [SIGINT, SIGTERM] {
      signal(number) {
        signal($0, SIG_DFL)
        Interruption.asked.store(true, ordering: .relaxed)
      }
    }
  }
}
