import TernCore
import TernDatabase

/// Finds the rows of synced tables that the app's own triggers wrote during a merge, and puts back
/// what the state says of them.
///
/// Every write of a merge leaves exactly one note. A key with another number of notes than writes
/// is a stray.
final class StrayWatch {
  struct RowID: Hashable {
    let table: Int64
    let key: [UInt8]
  }

  /// What stands in a row's table and what is held aside of it.
  struct Content {
    var shown: [String: Value]?
    var held: (reason: HeldReason, content: [String: Value])?
  }

  /// Rows as they stand when a merge meets no triggers: before and after it settles.
  struct Recording {
    var rows: Set<RowID> = []
    var beforeSettlement: [RowID: Content] = [:]
    var afterSettlement: [RowID: Content] = [:]
  }

  private enum Purpose { case record, restore }

  private let purpose: Purpose
  /// Whether there is no further round.
  private let isLast: Bool
  private(set) var recording: Recording
  private(set) var found: Set<RowID> = []
  private var writes: [RowID: Int] = [:]

  /// Triggers are off: takes down how the given rows stand.
  init(recording rows: Set<RowID>) {
    purpose = .record
    isLast = false
    recording = Recording(rows: rows)
  }

  /// Triggers are on: restores the recorded rows and looks for others. In the last round those that
  /// can be told to be new are taken away instead.
  init(restoring recording: Recording, isLast: Bool) {
    purpose = .restore
    self.isLast = isLast
    self.recording = recording
  }

  func wrote(_ table: Int64, _ key: [UInt8], count: Int) {
    if purpose == .restore { writes[RowID(table: table, key: key), default: 0] += count }
  }

  func beforeSettlement(_ transaction: StoreTransaction) throws {
    switch purpose {
    case .record: recording.beforeSettlement = try transaction.contents(of: recording.rows)
    case .restore: try RowRestoration(transaction, recording.beforeSettlement).run()
    }
  }

  func afterSettlement(_ transaction: StoreTransaction) throws {
    switch purpose {
    case .record: recording.afterSettlement = try transaction.contents(of: recording.rows)
    case .restore:
      try RowRestoration(transaction, recording.afterSettlement).run()
      found = try strays(transaction).subtracting(recording.rows)
      if isLast { try takeAwayPhantoms(transaction) }
    }
  }

  /// Triggers that draw a new key each time inserted other rows in each round.
  private func takeAwayPhantoms(_ transaction: StoreTransaction) throws {
    var gone: Set<RowID> = []
    // The second time those that triggers made of the first.
    for firesTriggers in [true, false] {
      let phantoms = try found.filter(transaction.isPhantom)
      if phantoms.isEmpty { return }
      let contents = Dictionary(uniqueKeysWithValues: phantoms.map { ($0, Content()) })
      try RowRestoration(transaction, contents, firesTriggers: firesTriggers).run()
      gone.formUnion(phantoms)
      found = try strays(transaction).subtracting(recording.rows).subtracting(gone)
    }
  }

  private func strays(_ transaction: StoreTransaction) throws -> Set<RowID> {
    var strays: Set<RowID> = []
    for sql in transaction.sql {
      let keys = sql.note.keyNames.joined(separator: ", ")
      let notes = try transaction.statement(
        "SELECT count(*), \(keys) FROM \(sql.note.noteTable) "
          + "WHERE m0 IS NOT '\(NoteSQL.standing)' GROUP BY \(keys)")
      defer { notes.reset() }
      while try notes.step() {
        let row = RowID(table: sql.shape.id, key: notes.packedKey(sql.shape, from: 1))
        if writes[row] != Int(notes.int64(0)) { strays.insert(row) }
      }
    }
    return strays
  }
}
