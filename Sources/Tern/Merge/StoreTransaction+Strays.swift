import GRDB
import TernCore
import TernDatabase

extension StoreTransaction {
  /// Rounds after which triggers are taken to answer differently every time.
  private static let roundLimit = 4

  /// Runs a merge so that the app's own triggers change no row of a synced table beyond what the
  /// state says, while everything else that they do stays done, once.
  ///
  /// Where they did change one, the merge is rolled back, run with all triggers off to learn how
  /// those rows have to stand, rolled back again, and run once more with those rows put right.
  /// Without such triggers it costs one look into the schema.
  func withoutStrays<T>(_ merge: (StoreTransaction) throws -> T) throws -> T {
    guard try hasAppTriggers() else { return try merge(self) }
    var latest: StoreTransaction?
    // Their writes went past GRDB, and could be anywhere.
    defer { if latest?.hasWrittenRows ?? true { try? db.notifyChanges(in: .fullDatabase) } }
    func merging(_ transaction: StoreTransaction) throws -> T {
      latest = transaction
      return try merge(transaction)
    }
    if ending.areTriggersOff { return try withoutAnyTrigger(merging) }
    var recording = StrayWatch.Recording()
    for round in 1...Self.roundLimit {
      let watch = StrayWatch(restoring: recording, isLast: round == Self.roundLimit)
      var output: T?
      try db.inSavepoint {
        output = try merging(again(watch, recorder))
        return watch.found.isEmpty ? .commit : .rollback
      }
      if watch.found.isEmpty { return output! }
      if round == Self.roundLimit { break }
      let record = StrayWatch(recording: recording.rows.union(watch.found))
      try db.withoutTriggers {
        try db.inSavepoint {
          _ = try merge(again(record, nil))
          return .rollback
        }
      }
      recording = record.recording
    }
    // They change other rows every time.
    return try withoutAnyTrigger(merging)
  }

  private func withoutAnyTrigger<T>(_ merge: (StoreTransaction) throws -> T) throws -> T {
    try db.withoutTriggers { try merge(again(nil, recorder)) }
  }

  /// The same transaction as it is now read.
  private func again(_ strays: StrayWatch?, _ recorder: ChangeRecorder?) throws -> StoreTransaction
  {
    try StoreTransaction(
      db, tables: tables, sql: sql, strays: strays, recorder: recorder, inboxLimits: inboxLimits,
      ending: ending)
  }

  /// Whether a trigger that is not Tern's can fire in a merge; temporary ones can too.
  func hasAppTriggers() throws -> Bool {
    let names = Set(sql.map(\.shape.name.folded))
    for schema in ["main.sqlite_master", "temp.sqlite_temp_master"] {
      let triggers = try statement("SELECT name, tbl_name FROM \(schema) WHERE type = 'trigger'")
      defer { triggers.reset() }
      while try triggers.step() {
        let name = triggers.value(0).value?.string ?? ""
        let table = triggers.value(1).value?.string ?? ""
        if !name.hasPrefix(StoreTables.commonPrefix), names.contains(table.folded) { return true }
      }
    }
    return false
  }

  func contents(of rows: Set<StrayWatch.RowID>) throws -> [StrayWatch.RowID: StrayWatch.Content] {
    var contents: [StrayWatch.RowID: StrayWatch.Content] = [:]
    for row in rows {
      guard let sql = sql.first(where: { $0.shape.id == row.table }) else { continue }
      let writer = try TableWriter(self, sql, hasHeld: true)
      var content = StrayWatch.Content(shown: try writer.read(row.key))
      if let held = try storedContent(in: .held, row.table, row.key),
        let reason = try heldReason(row)
      {
        content.held = (reason, held)
      } else if let kept = try writer.aside(row.key) {
        content.held = (.deleted, kept)
      }
      contents[row] = content
    }
    return contents
  }

  func heldReason(_ row: StrayWatch.RowID) throws -> HeldReason? {
    let select = try statement("SELECT reason FROM \(tables.held) WHERE tbl = ? AND key = ?")
    defer { select.reset() }
    return try row.key.withUnsafeBytes { key in
      select.bind(1, row.table)
      select.bind(2, blob: key)
      return try select.step() ? select.value(0).value?.string.flatMap(HeldReason.init) : nil
    }
  }
}
