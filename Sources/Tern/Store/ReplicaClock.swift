import TernCore
import TernDatabase

/// How far a clock may be off before Tern corrects for it.
enum ClockLimit {
  static let toleratedMilliseconds: Int64 = 5 * 60 * 1000
}

/// This device's clock, as corrected by a remote's, and the latest time that is in the state.
///
/// A group whose time lies more than five minutes ahead of this clock and of the remote's waits. A
/// local write has to be later than everything in the state (INV-11). To merge such a group would
/// take the clock along, at worst to where no later time is left. It waits, in the log and named,
/// until the clock comes near; what merges then does not depend on the order.
struct ReplicaClock {
  private let connection: StoreConnection
  var lastTime: HybridTime
  var correctionMilliseconds: Int64

  init(_ connection: StoreConnection, lastTime: HybridTime, correctionMilliseconds: Int64) {
    self.connection = connection
    (self.lastTime, self.correctionMilliseconds) = (lastTime, correctionMilliseconds)
  }

  func save() throws {
    let statement = try connection.statement(connection.tables.statements.saveClock)
    statement.bind(1, raw: lastTime.rawValue)
    statement.bind(2, correctionMilliseconds)
    try statement.run()
  }

  /// As the device has it.
  func uncorrectedMilliseconds() throws -> Int64 {
    let select = try connection.statement("SELECT \(NoteSQL.milliseconds)")
    return try select.first { select.int64(0) } ?? 0
  }

  func milliseconds() throws -> Int64 {
    try uncorrectedMilliseconds() + correctionMilliseconds
  }

  /// - Parameter remoteMilliseconds: the remote's clock, or 0.
  func isFuture(_ time: HybridTime, remoteMilliseconds: Int64) throws -> Bool {
    let tolerated = time.milliseconds - ClockLimit.toleratedMilliseconds
    // The remote's clock is at hand, and lets nearly everything pass.
    if tolerated <= remoteMilliseconds || time <= lastTime { return false }
    let now = try max(milliseconds(), remoteMilliseconds)
    if tolerated <= now { return false }
    // Where the state is ahead already, by a remote's clock that was, what follows on it
    // at once passes.
    return lastTime.milliseconds - ClockLimit.toleratedMilliseconds <= now
      || time.milliseconds > lastTime.milliseconds + 1
  }
}
