import GRDB
import TernCore
import TernDatabase

/// The app's triggers that a merge can meet: those on synced tables, and those on what these write
/// to.
///
/// An *unsafe* one never runs in a merge: its own statements insert into a synced table or delete
/// from it, or set a column there that travels, or it can refuse a write. Every other is
/// *harmless* and runs, so that what it mirrors follows.
struct AppTriggers: Sendable {
  struct Trigger: Sendable {
    let name: String
    let isTemporary: Bool
    let sql: String
    /// What it is on.
    let table: String
    /// `nil` where it cannot be read.
    let text: TriggerText?
    /// Why it is unsafe, if it is.
    var danger: String?
  }

  private(set) var harmless: [Trigger] = []
  private(set) var unsafe: [Trigger] = []
  /// What harmless ones write to.
  private(set) var targets: Set<String> = []
  /// Whether a statement in one, or a table that one writes to, says what becomes of a conflict.
  private(set) var decidesConflicts = false

  var isEmpty: Bool { harmless.isEmpty && unsafe.isEmpty }

  init() {}

  /// - Parameters:
  ///   - tables: those that a merge writes to.
  ///   - synced: by the folded name of each table that any replica in the file syncs, its columns
  ///     that travel and those of its key.
  init(_ db: Database, of tables: [String], synced: () throws -> [String: Set<String>]) throws {
    let all = try Self.all(db)
    let meets = Set(all.keys).intersection(tables.map(\.folded))
    if meets.isEmpty { return }
    let (synced, temporary) = (try synced(), try Self.temporaryNames(db))
    var waiting = meets.sorted()
    var seen = meets
    while let table = waiting.popLast() {
      for var trigger in all[table] ?? [] {
        trigger.danger = try Self.danger(trigger, synced, temporary, db)
        guard trigger.danger == nil, let text = trigger.text else {
          unsafe.append(trigger)
          continue
        }
        harmless.append(trigger)
        for (target, _) in text.writes {
          targets.insert(target)
          if all[target.folded] != nil, seen.insert(target.folded).inserted {
            waiting.append(target.folded)
          }
        }
      }
    }
    decidesConflicts =
      try harmless.contains { $0.text!.hasConflictClause }
      || targets.contains { try Self.declares("conflict", $0, db) }
  }

  /// By the folded name of what they are on, in the order in which they were made.
  private static func all(_ db: Database) throws -> [String: [Trigger]] {
    var all: [String: [Trigger]] = [:]
    for schema in ["main.sqlite_master", "temp.sqlite_temp_master"] {
      let select = try FastStatement(
        db, "SELECT name, tbl_name, sql FROM \(schema) WHERE type = 'trigger' ORDER BY rowid")
      defer { select.reset() }
      while try select.step() {
        let (name, table) = (select.text(0), select.text(1))
        if name.hasPrefix(StoreTables.commonPrefix) { continue }
        let sql = select.text(2)
        all[table.folded, default: []].append(
          Trigger(
            name: name, isTemporary: schema.hasPrefix("temp"), sql: sql, table: table,
            text: TriggerText.reading(sql)))
      }
    }
    return all
  }

  /// What a temporary object hides from a temporary trigger.
  private static func temporaryNames(_ db: Database) throws -> Set<String> {
    let names = try String.fetchAll(
      db, sql: "SELECT name FROM temp.sqlite_temp_master WHERE type IN ('table', 'view')")
    return Set(names.map(\.folded))
  }

  private static func danger(
    _ trigger: Trigger, _ synced: [String: Set<String>], _ temporary: Set<String>, _ db: Database
  ) throws -> String? {
    guard let text = trigger.text else { return "its text can't be read" }
    if text.mayRefuse { return "it can refuse a write, by RAISE or OR ROLLBACK" }
    for (target, write) in text.writes {
      if let columns = synced[target.folded] {
        switch write {
        case .insert: return "it inserts into “\(target)”, which syncs"
        case .delete: return "it deletes from “\(target)”, which syncs"
        case .update(let set):
          if let column = set.first(where: { columns.contains($0.folded) }) {
            return "it sets “\(column)” of “\(target)”, which syncs"
          }
        }
      }
      if try declares("rollback", target, db) {
        return "it writes to “\(target)”, whose declaration says ON CONFLICT ROLLBACK"
      }
    }
    if !trigger.isTemporary, let hidden = text.names.first(where: temporary.contains) {
      return "a temporary table or view hides “\(hidden)” from it"
    }
    return nil
  }

  private static func declares(_ word: String, _ table: String, _ db: Database) throws -> Bool {
    let select = try FastStatement(
      db, "SELECT sql FROM main.sqlite_master WHERE type = 'table' AND name = ? COLLATE NOCASE")
    select.bind(1, copy: .string(table))
    let sql = try select.first { select.text(0) } ?? ""
    // Nearly none has the word at all.
    return sql.folded.contains(word) && SQLText(sql).tokens.contains { $0.isWord(word) }
  }
}

extension AppTriggers {
  /// Whether a table says by itself what becomes of a conflict.
  static func declaresConflicts(_ table: String, _ db: Database) throws -> Bool {
    try declares("conflict", table, db)
  }
}
