#if Server && Rehearsal
/// How often one device asks one remote.
struct RequestPace {
  /// Requests since all faults ended.
  var quiet = 0
  /// When the last requests failed.
  private var failures: [Int64] = []

  /// Whatever fails, nobody asks for it again and again: between two attempts there is a wait, which grows.
  ///
  /// - Returns: the violation, if there is one.
  mutating func failed(of device: Int, at now: Int64) -> String? {
    failures.removeAll { $0 <= now - Self.stormMilliseconds }
    failures.append(now)
    guard failures.count > Self.failureLimit else { return nil }
    return "INV-09: \(failures.count) requests of device \(device) failed within "
      + "\(Self.stormMilliseconds / 1000) seconds"
  }

  private static let stormMilliseconds: Int64 = 5000
  /// Twice what the worst of many worlds needs, where the app dies and the network comes and goes meanwhile;
  /// without a wait there are more than a hundred.
  private static let failureLimit = 60
}
#endif
