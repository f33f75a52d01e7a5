import TernCore
import TernDatabase

/// Groups whose time lies more than five minutes ahead of this clock and of the remote's.
///
/// A local write has to be later than everything in the state (INV-11). To merge such a group would
/// take the clock along, at worst to where no later time is left. It waits, in the log and named,
/// until the clock comes near; what merges then does not depend on the order.
extension StoreTransaction {
  /// This device's clock, as corrected by a remote's.
  func clockMilliseconds() throws -> Int64 {
    let select = try statement("SELECT \(NoteSQL.milliseconds)")
    defer { select.reset() }
    _ = try select.step()
    return select.int64(0) + correctionMilliseconds
  }

  func isFuture(_ time: HybridTime, remoteMilliseconds: Int64) throws -> Bool {
    let tolerated = time.milliseconds - ClockLimit.toleratedMilliseconds
    // The remote's clock is at hand, and lets nearly everything pass.
    if tolerated <= remoteMilliseconds || time <= lastTime { return false }
    let now = try max(clockMilliseconds(), remoteMilliseconds)
    if tolerated <= now { return false }
    // Where the state is ahead already, by a remote's clock that was, what follows on it
    // at once passes.
    return lastTime.milliseconds - ClockLimit.toleratedMilliseconds <= now
      || time.milliseconds > lastTime.milliseconds + 1
  }

  func dueGroups(remoteMilliseconds: Int64) throws -> [LogGroup] {
    guard waiting.hasFuture else { return [] }
    return try waiting.groups(dueBy: max(remoteMilliseconds, clockMilliseconds()))
  }

  func hasDueGroups() throws -> Bool {
    try !dueGroups(remoteMilliseconds: 0).isEmpty
  }

  /// The greatest time of others that is in the state.
  func latestTimeOfOthers() throws -> HybridTime {
    var latest = HybridTime.zero
    for index in authors.ids.indices.dropFirst() {
      let author = UInt32(index)
      guard let first = try waiting.firstFuture(of: author) else {
        let row = try self.author(author)
        // The beginning of a group is in no state, and may be of any time.
        if row.merged > 0 { latest = max(latest, try time(ofMerged: author, row)) }
        continue
      }
      let before = try log.operation(LogID(author: author, sequence: first - 1))
      latest = max(latest, before?.envelope.time ?? .zero)
    }
    return latest
  }
}
