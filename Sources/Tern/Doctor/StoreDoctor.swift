import Foundation
import GRDB
import TernCore
import TernDatabase

/// Looks at the tables that a replica keeps for itself, at its catalogue and at its triggers.
final class StoreDoctor {
  private let db: Database
  private var tables: StoreTables
  private let name: String
  private let findings: Findings
  /// The app's, as they are in the catalogue.
  private(set) var syncedTables: [String] = []
  /// The numbers of tables of which nothing more can be said.
  private var unread: Set<Int64> = []

  init(_ db: Database, name: String, _ findings: Findings) {
    (self.db, self.name, self.findings) = (db, name, findings)
    tables = StoreTables(name: name)
  }

  /// - Returns: `nil` where nothing further can be read.
  func open() throws -> StoreTransaction? {
    guard
      let format = try Int.fetchOne(
        db, sql: "SELECT CAST(format AS INTEGER) FROM \(tables.replica)")
    else {
      // Its first opening did not end.
      return nil
    }
    guard StoreTables.oldestFormat...StoreTables.format ~= format else {
      try findings.add(
        format > StoreTables.format ? .newerFormat : .olderFormat,
        "the replica's tables, which begin with \(tables.prefix), have format \(format), and this "
          + "is a Tern for \(StoreTables.format)")
      return nil
    }
    tables = StoreTables(name: name, format: format)
    let rare = tables.rare.all
    let isWhole = try TableForms(findings).check(
      tables.creation + rare.flatMap(\.creation), addedTables: tables.later.union(rare.map(\.name)),
      in: db)
    guard try isWhole && checkAuthors() else { return nil }
    let sql = try installed()
    let statements = sql.flatMap { $0.note.tables + $0.gone }
    guard try TableForms(findings).check(statements, in: db) else { return nil }
    try checkTriggers(sql)
    return try StoreTransaction(db, tables: tables, sql: sql)
  }

  // MARK: - Authors

  private func checkAuthors() throws -> Bool {
    let replicas = try Row.fetchAll(
      db, sql: "SELECT id, last_time, schema_version FROM \(tables.replica)")
    let authors = try Row.fetchAll(db, sql: "SELECT * FROM \(tables.author) ORDER BY idx")
    let ids = authors.map { ($0["id"] as Data?).flatMap { ReplicaID(bytes: $0) } }
    guard replicas.count == 1, authors.map({ $0["idx"] as Int64 }) == Array(0..<Int64(ids.count)),
      !ids.isEmpty, !ids.contains(nil), Set(ids).count == ids.count
    else {
      try findings.add(.authors, "the list of replicas has a hole, a double or an id that is none")
      return false
    }
    if (replicas[0]["id"] as Data?) != (authors[0]["id"] as Data?) {
      try findings.add(.identity, "the replica's id is not that of its own operations")
    }
    guard UInt32(exactly: replicas[0]["schema_version"] as Int64) != nil else {
      try findings.add(.catalogue, "the schema's version is none")
      return false
    }
    let last = HybridTime(rawValue: UInt64(bitPattern: replicas[0]["last_time"] as Int64))
    for (row, id) in zip(authors, ids) {
      let (stored, merged): (Int64, Int64) = (row["stored"], row["merged"])
      let place = DatabaseFinding.Place(author: id)
      if merged < 0 || merged > stored || (row["announced"] as Int64) > merged
        || (row["trimmed"] as Int64) > merged || (row["trimmed"] as Int64) < 0
      {
        try findings.add(
          .authors,
          "it is stored up to \(stored), merged up to \(merged), announced up to "
            + "\(row["announced"] as Int64) and trimmed up to \(row["trimmed"] as Int64)", at: place
        )
        return false
      }
      let isOwn = row["idx"] == 0
      let time = HybridTime(rawValue: UInt64(bitPattern: row["time"] as Int64))
      // What waits for the clock, or for its end, has not moved this replica's.
      if isOwn || merged == stored, time > last, try isOwn || !isWaiting(row["idx"]) {
        try findings.add(
          .clock, "the replica's clock is behind an operation that it has", at: place)
      }
    }
    return true
  }

  private func isWaiting(_ author: Int64) throws -> Bool {
    try Bool.fetchOne(
      db,
      sql:
        "SELECT EXISTS (SELECT 1 FROM \(tables.waiting) WHERE reason <> 'schema' AND id >> 40 = ?)",
      arguments: [author])!
  }

  // MARK: - The catalogue

  private func installed() throws -> [TableSQL] {
    let all = try InstalledTable.all(db, tables)
    let sql = try all.compactMap(installed)
    unread = Set(all.filter(\.isSynced).map(\.id)).subtracting(sql.map(\.shape.id))
    return sql
  }

  private func installed(_ table: InstalledTable) throws -> TableSQL? {
    let place = DatabaseFinding.Place(table: table.name)
    if table.columns.map(\.id) != Array(table.columns.indices) {
      try findings.add(.catalogue, "its columns' numbers have a hole", at: place)
      return nil
    }
    guard table.isSynced else { return nil }
    syncedTables.append(table.name)
    let isKnown =
      DeleteRule.Kind(rawValue: UInt8(clamping: table.deletes)) != nil
      && table.columns.allSatisfy { MergeRule.Kind(rawValue: UInt8(clamping: $0.rule)) != nil }
    guard isKnown else {
      try findings.add(.newerFormat, "a rule is none that this Tern knows", at: place)
      return nil
    }
    guard try db.tableExists(table.name) else {
      try findings.add(.tableGone, "the table that syncs is not there", at: place)
      return nil
    }
    do {
      guard let sql = try table.sql(db, prefix: tables.prefix) else {
        try findings.add(.tableChanged, "its key is another than it was synced under", at: place)
        return nil
      }
      for column in table.columns where column.isPresent && !sql.shape.has(column.name) {
        try findings.add(
          .columnGone, "the column that syncs is not there",
          at: .init(table: table.name, column: column.name))
      }
      return sql
    } catch let error as SchemaError {
      try findings.add(.tableChanged, error.message, at: place)
      return nil
    }
  }

  // MARK: - Triggers

  private func checkTriggers(_ sql: [TableSQL]) throws {
    // Somebody else's names may be equal in all but bytes.
    var present = Dictionary(
      try db.triggers(prefix: tables.prefix), uniquingKeysWith: { $1 })
    for sql in sql {
      var former = sql.note
      former.isFormer = true
      // Opening the file replaces them.
      // There while it has work.
      let standing = sql.note.standingTrigger
      if present[standing.name]?.folded == standing.sql.folded { present[standing.name] = nil }
      let isFormer = former.triggers.allSatisfy { present[$0.name]?.folded == $0.sql.folded }
      for trigger in isFormer ? former.triggers : sql.note.triggers {
        let place = DatabaseFinding.Place(table: sql.shape.name, name: "trigger \(trigger.name)")
        guard let text = present.removeValue(forKey: trigger.name) else {
          try findings.add(
            .triggerMissing, "the trigger that notes writes is not there", at: place)
          continue
        }
        // A schema can spell a table's name in another case than the first one did.
        if text.folded != trigger.sql.folded {
          try findings.add(
            .triggerStale, "the trigger is not the one that the table needs now", at: place)
        }
      }
    }
    // Of a table that can't be read is said what is wrong with it.
    for name in present.keys.sorted() where !unread.contains(where: { name.hasSuffix("_\($0)") }) {
      try findings.add(
        .triggerLeft, "a trigger of Tern's is there that no table needs",
        at: .init(name: "trigger \(name)"))
    }
  }
}

extension TableSQL {
  /// What makes the table of what deleted rows held, where there is one.
  fileprivate var gone: [String] { shape.deletes.keepsContent ? note.goneCreation : [] }
}
