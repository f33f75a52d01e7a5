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
  /// More notes are not told apart: to do so takes memory for each.
  private static let most = 100_000

  /// Of the last note, in the clock of who wrote it.
  var milliseconds: Int64
  private var first: Int64
  /// By table, the last note that is of this burst, or of one before it.
  private var lastNotes: [Int: Int64] = [:]
  private(set) var isLast = true
  /// By table, the notes that its operation is made of; `nil` for all that there are.
  private(set) var notes: [Int: [BurstNote]]?

  /// - Parameter start: no pause since then ends a burst.
  /// - Returns: the tables that have notes, and the bursts from the first to the last.
  static func all(
    in transaction: StoreTransaction, since start: ContinuousClock.Instant?
  ) throws -> (tables: [Int], bursts: [NoteBurst]) {
    var (first, last) = (Int64.max, Int64.min)
    var noted: [Int] = []
    for (index, sql) in transaction.sql.enumerated() {
      let backwards = try transaction.statement(sql.noteTimesBackwards)
      defer { backwards.reset() }
      guard try backwards.step() else { continue }
      noted.append(index)
      let time = backwards.int64(1)
      last = max(last, time)
      first = min(first, time)
      // Of one note, which most seals have, the first is not asked for.
      if try backwards.step() {
        let statement = try transaction.statement(sql.firstNoteTime)
        defer { statement.reset() }
        if try statement.step() { first = min(first, statement.int64(0)) }
      }
    }
    if noted.isEmpty { return ([], []) }
    let one = NoteBurst(milliseconds: last, first: first)
    if last - first < pauseMilliseconds || Planted.isActive(.burstsTogether) {
      return (noted, [one])
    }
    // Of what was written since then no pause is as long.
    let passed = start.map { ($0.duration(to: .now).components.seconds + 1) * 1000 } ?? 0
    let count = try noted.reduce(0) { try $0 + transaction.notes.count(transaction.sql[$1]) }
    var bursts =
      count > most
      ? [] : try Self.bursts(of: noted, in: transaction, pause: max(pauseMilliseconds, passed))
    if bursts.count < 2 { return (noted, [one]) }
    for index in bursts.indices {
      bursts[index].isLast = index == bursts.count - 1
      bursts[index].notes = [:]
    }
    for table in noted { try share(out: table, to: &bursts, in: transaction) }
    return (noted, bursts)
  }

  private static func bursts(
    of tables: [Int], in transaction: StoreTransaction, pause: Int64
  ) throws -> [NoteBurst] {
    let parts = try tables.flatMap { try Self.parts(of: $0, in: transaction, pause) }
    var bursts: [NoteBurst] = []
    for part in parts.sorted(by: { $0.first < $1.first }) {
      if let before = bursts.last, part.first - before.milliseconds < pause {
        bursts[bursts.count - 1].take(part)
      } else {
        bursts.append(part)
      }
    }
    return bursts
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

  // MARK: - What was written more than once

  /// Where the notes of one key stand.
  private struct Place {
    let lastBurst: Int
    /// All notes are of the last burst: only what became of the row is known.
    var isWhole = false
    /// Columns that notes behind the present one name.
    var later = ColumnMask()
  }

  /// Puts each note of a table into the last burst in which its column was written, or its row
  /// came or went: the row is read as it stands, and an earlier operation must not have what was
  /// written later.
  private static func share(
    out table: Int, to bursts: inout [NoteBurst], in transaction: StoreTransaction
  ) throws {
    let sql = transaction.sql[table]
    let ends = bursts.indices.compactMap { burst in
      bursts[burst].lastNotes[table].map { (burst: burst, row: $0) }
    }
    let hasHeld = try transaction.held.hasRows()
    var places: [[UInt8]: Place] = [:]
    try forEachBackwards(sql, ends, in: transaction) { burst, _, note, key in
      var place = places[key] ?? Place(lastBurst: burst)
      if hasHeld || !note.isOfColumns { place.isWhole = true }
      places[key] = place
    }
    try forEachBackwards(sql, ends, in: transaction) { burst, row, note, key in
      guard let place = places[key], !place.isWhole else {
        let last = places[key]?.lastBurst ?? burst
        bursts[last].notes?[table, default: []].append(BurstNote(row: row))
        return
      }
      let columns = burst == place.lastBurst ? note.columns : note.columns.subtracting(place.later)
      if burst == place.lastBurst || !columns.isEmpty {
        bursts[burst].notes?[table, default: []].append(BurstNote(row: row, columns: columns))
      }
      places[key]?.later.formUnion(note.columns)
    }
    for index in bursts.indices { bursts[index].notes?[table]?.reverse() }
  }

  /// - Parameter ends: the bursts that have notes of the table, and the last of these.
  private static func forEachBackwards(
    _ sql: TableSQL, _ ends: [(burst: Int, row: Int64)], in transaction: StoreTransaction,
    _ body: (_ burst: Int, _ row: Int64, Note, _ key: [UInt8]) throws -> Void
  ) throws {
    let notes = try transaction.statement(sql.notesBackwards)
    defer { notes.reset() }
    var place = ends.count - 1
    let maskCount = sql.maskCount
    while try notes.step() {
      let row = notes.int64(0)
      while place > 0, ends[place - 1].row >= row { place -= 1 }
      var key = ByteWriter()
      for index in sql.shape.keyColumns.indices {
        key.append(notes.value(Int32(1 + maskCount + index)).inKey)
      }
      try body(ends[place].burst, row, Note(notes, 1, count: maskCount), key.bytes)
    }
  }
}

/// A note of a burst.
struct BurstNote {
  let row: Int64
  /// What it counts for, where others name the rest of its columns later.
  var columns: ColumnMask?
}

extension Note {
  /// Whether it says nothing of how the row came or went.
  fileprivate var isOfColumns: Bool {
    if case .written = self { true } else { false }
  }
}
