import GRDB

extension DatabaseError {
  /// Whether the same call can succeed later: another connection is in the way, or the app
  /// suspended or interrupted this one.
  package var passes: Bool {
    resultCode == .SQLITE_BUSY || resultCode == .SQLITE_LOCKED || isInterruptionError
  }
}
