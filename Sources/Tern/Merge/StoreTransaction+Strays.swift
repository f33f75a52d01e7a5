import GRDB
import TernCore
import TernDatabase

extension StoreTransaction {
  /// Rounds after which a merge is taken as it is: triggers that answer differently every time.
  private static let roundLimit = 4

  /// Runs a merge so that the app's own triggers change no row of a synced table beyond what the
  /// state says, while everything else that they do stays done, once.
  ///
  /// Where they did change one, the merge is rolled back, run with all triggers off to learn how
  /// those rows have to stand, rolled back again, and run once more with those rows put right.
  /// Without such triggers it costs one look into the schema.
  func withoutStrays<T>(_ merge: (StoreTransaction) throws -> T) throws -> T {
    guard try hasAppTriggers() else { return try merge(self) }
    // Their writes went past GRDB, and could be anywhere.
    defer { try? db.notifyChanges(in: .fullDatabase) }
    var recording = StrayWatch.Recording()
    for round in 1... {
      let watch = StrayWatch(restoring: recording)
      var output: T?
      try db.inSavepoint {
        output = try merge(
          StoreTransaction(
            db, tables: tables, sql: sql, strays: watch, recorder: recorder,
            inboxLimits: inboxLimits))
        return watch.found.isEmpty || round == Self.roundLimit ? .commit : .rollback
      }
      if watch.found.isEmpty || round == Self.roundLimit { return output! }
      let record = StrayWatch(recording: recording.rows.union(watch.found))
      try db.withoutTriggers {
        try db.inSavepoint {
          _ = try merge(StoreTransaction(db, tables: tables, sql: sql, strays: record))
          return .rollback
        }
      }
      recording = record.recording
    }
    preconditionFailure("unreachable: the last round returns")
  }

  /// Whether a trigger that is not Tern's can fire in a merge; temporary ones can too.
  private func hasAppTriggers() throws -> Bool {
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

  /// Makes rows stand as recorded, with every trigger off.
  func restore(_ contents: [StrayWatch.RowID: StrayWatch.Content]) throws {
    if contents.isEmpty { return }
    try db.withoutTriggers {
      // First all go: two of them may have swapped what a UNIQUE index holds.
      for row in contents.keys {
        guard let sql = sql.first(where: { $0.shape.id == row.table }) else { continue }
        try remove(row, sql)
      }
      for (row, content) in contents {
        guard let sql = sql.first(where: { $0.shape.id == row.table }) else { continue }
        try restore(row, content, sql)
      }
    }
  }

  private func remove(_ row: StrayWatch.RowID, _ sql: TableSQL) throws {
    let delete = try statement(sql.delete)
    _ = try TableWriter(self, sql, hasHeld: true).bind(row.key, to: delete)
    try delete.run()
    try dropContent(in: .held, row.table, row.key)
    try dropContent(in: .kept, row.table, row.key)
  }

  private func restore(
    _ row: StrayWatch.RowID, _ content: StrayWatch.Content, _ sql: TableSQL
  ) throws {
    let writer = try TableWriter(self, sql, hasHeld: true)
    recorder?.note(row.table, row.key, isLocal: false)
    if let shown = content.shown {
      let upsert = try statement(sql.upsertAll)
      let keyCount = try writer.bind(row.key, to: upsert)
      for (index, column) in sql.shape.columns.enumerated() {
        upsert.bind(Int32(keyCount + index + 1), copy: shown[column.name] ?? .null)
      }
      // A row that a trigger moved may be where this one belongs: the settlement decides.
      if try upsert.runUnlessRefused() != nil {
        try hold(row.table, row.key, .unique, content: shown)
      }
    }
    if let held = content.held {
      try hold(row.table, row.key, held.reason, content: held.content)
    }
  }
}
