import TernCore
import TernDatabase

/// Notes without a long pause between them, of all tables together: what becomes one operation.
///
/// Where an engine runs, a seal follows each write within a second, and there is one burst. Notes
/// wait for days where only a widget or a command-line tool writes, and each has its own time.
/// Notes do not say where a transaction ends, so the pause is longer than any in one transaction.
struct NoteBurst {
  /// A transaction that writes nothing for so long keeps all other writers waiting meanwhile.
  private static let pauseMilliseconds: Int64 = 60_000

  /// Of the last note, in the clock of who wrote it.
  var milliseconds: Int64
  private var first: Int64
  /// By table, the last note that belongs to it, or to a burst before it; `.max` for all.
  private(set) var lastNotes: [Int: Int64]

  func lastNote(of table: Int) -> Int64 { isLast ? .max : lastNotes[table] ?? .min }

  private(set) var isLast = true

  /// - Parameter start: no pause since then ends a burst.
  /// - Returns: the tables that have notes, and the bursts from the first to the last.
  static func all(
    in transaction: StoreTransaction, since start: ContinuousClock.Instant?
  ) throws -> (tables: [Int], bursts: [NoteBurst]) {
    var (first, last) = (Int64.max, Int64.min)
    var noted: [Int] = []
    for (index, sql) in transaction.sql.enumerated() {
      let statement = try transaction.statement(sql.noteTimes)
      if try statement.step() {
        noted.append(index)
        last = max(last, statement.int64(0))
        first = min(first, statement.int64(0), statement.int64(1))
      }
      statement.reset()
    }
    if noted.isEmpty { return ([], []) }
    let one = NoteBurst(milliseconds: last, first: first, lastNotes: [:])
    if last - first < pauseMilliseconds || Planted.isActive(.burstsTogether) {
      return (noted, [one])
    }
    // Of what was written since then no pause is as long.
    let passed = start.map { ($0.duration(to: .now).components.seconds + 1) * 1000 } ?? 0
    let pause = max(pauseMilliseconds, passed)
    let parts = try noted.flatMap { try Self.parts(of: $0, in: transaction, pause) }
    var bursts: [NoteBurst] = []
    for part in parts.sorted(by: { $0.first < $1.first }) {
      if let before = bursts.last, part.first - before.milliseconds < pause {
        bursts[bursts.count - 1].take(part)
      } else {
        if !bursts.isEmpty { bursts[bursts.count - 1].isLast = false }
        bursts.append(part)
      }
    }
    return (noted, bursts)
  }

  /// The bursts of one table's notes. A clock that was set back was wrong before: a note is not
  /// later than those that follow it.
  private static func parts(
    of table: Int, in transaction: StoreTransaction, _ pause: Int64
  ) throws -> [NoteBurst] {
    let notes = try transaction.statement(transaction.sql[table].noteTimesBackwards)
    var parts: [NoteBurst] = []
    try notes.each {
      let (row, written) = (notes.int64(0), notes.int64(1))
      let time = min(written, parts.last?.first ?? .max)
      if let next = parts.last, next.first - time < pause {
        parts[parts.count - 1].first = time
      } else {
        parts.append(NoteBurst(milliseconds: time, first: time, lastNotes: [table: row]))
      }
    }
    return parts
  }

  private mutating func take(_ part: NoteBurst) {
    milliseconds = max(milliseconds, part.milliseconds)
    lastNotes.merge(part.lastNotes) { max($0, $1) }
  }
}
