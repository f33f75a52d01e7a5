@_spi(Rehearsal) import Tern

/// The places in this program where dying must cost nothing, beside those of its job queue.
extension CrashPoint {
  /// It is noted that a photo is on its way, and nothing of it is.
  static let scanBeforeSend = CrashPoint(rawValue: "scan.before-send")
  /// The service has accepted a photo, and what it calls the job was not read.
  static let scanAfterSend = CrashPoint(rawValue: "scan.after-send")
  /// An event was read, and nothing of it is stored.
  static let scanAfterEvent = CrashPoint(rawValue: "scan.after-event")
  /// All books of a scan were read, and the scan does not have them.
  static let scanAfterResults = CrashPoint(rawValue: "scan.after-results")
  static let scanBeforeCleanUp = CrashPoint(rawValue: "scan.before-clean-up")
  /// The service has forgotten a scan, and it is still to be cleaned up.
  static let scanAfterCleanUp = CrashPoint(rawValue: "scan.after-clean-up")

  static let ofScan: [CrashPoint] = [
    .scanBeforeSend, .scanAfterSend, .scanAfterEvent, .scanAfterResults, .scanBeforeCleanUp,
    .scanAfterCleanUp,
  ]
}
