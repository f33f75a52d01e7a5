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

  /// Whether a harmless one writes to a table: to local columns, of one that syncs.
  func areWriting(to table: String) -> Bool { targets.contains { $0.folded == table.folded } }

  var isEmpty: Bool { harmless.isEmpty && unsafe.isEmpty }

  init() {}

  /// What of the file decides whether a trigger is unsafe.
  struct Surroundings {
    /// By the folded name of each table that any replica in the file syncs, its columns that travel
    /// and those of its key.
    var synced: [String: Set<String>]
    /// What synced tables refer to by foreign keys with an action.
    var parents: Set<String>
    /// What a temporary object hides from a temporary trigger.
    var hidden: Set<String>
  }

  /// - Parameter tables: those that a merge writes to.
  init(_ db: Database, of tables: [String], in surroundings: () throws -> Surroundings) throws {
    let all = try Self.all(db)
    let meets = Set(all.keys).intersection(tables.map(\.folded))
    if meets.isEmpty { return }
    let surroundings = try surroundings()
    /// Views to which nothing can be written, since their own triggers do not run.
    var closed: Set<String> = []
    repeat {
      try read(all, from: meets, surroundings, closed, db)
    } while try closesMore(&closed, db)
    decidesConflicts =
      try harmless.contains { $0.text!.hasConflictClause }
      || targets.contains { try Self.declares(nil, $0, db) }
  }

  private mutating func read(
    _ all: [String: [Trigger]], from meets: Set<String>, _ surroundings: Surroundings,
    _ closed: Set<String>, _ db: Database
  ) throws {
    (harmless, unsafe, targets) = ([], [], [])
    var waiting = meets.sorted()
    var seen = meets
    while let table = waiting.popLast() {
      for var trigger in all[table] ?? [] {
        trigger.danger = try Self.danger(trigger, surroundings, closed, db)
        guard trigger.danger == nil, let text = trigger.text else {
          unsafe.append(trigger)
          continue
        }
        harmless.append(trigger)
        for (target, _) in text.writes {
          targets.insert(target)
          if Planted.isActive(.nestedUncopied) { continue }
          if all[target.folded] != nil, seen.insert(target.folded).inserted {
            waiting.append(target.folded)
          }
        }
      }
    }
  }

  /// - Returns: whether there were any that were not known yet.
  private func closesMore(_ closed: inout Set<String>, _ db: Database) throws -> Bool {
    let count = closed.count
    for trigger in self.unsafe where try db.viewExists(trigger.table) {
      closed.insert(trigger.table.folded)
    }
    return closed.count > count
  }

  /// By the folded name of what they are on, in the order in which they were made.
  static func all(_ db: Database) throws -> [String: [Trigger]] {
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

  private static func danger(
    _ trigger: Trigger, _ surroundings: Surroundings, _ closed: Set<String>, _ db: Database
  ) throws -> String? {
    guard let text = trigger.text else { return "its text can't be read" }
    if text.mayRefuse { return "it can refuse a write, by RAISE, OR ROLLBACK or OR FAIL" }
    for (target, write) in text.writes {
      let name = target.folded
      if let columns = surroundings.synced[name] {
        switch write {
        case .insert: return "it inserts into “\(target)”, which syncs"
        case .delete: return "it deletes from “\(target)”, which syncs"
        case .update(let set):
          if let column = set.first(where: { columns.contains($0.folded) }) {
            return "it sets “\(column)” of “\(target)”, which syncs"
          }
          if try text.replaces.contains(name) || declares("replace", target, db) {
            return "it can replace rows of “\(target)”, which syncs"
          }
        }
      }
      if write != .insert, surroundings.parents.contains(name) {
        return "what it does to “\(target)” can change rows that refer to it and sync"
      }
      for word in ["rollback", "fail"] where try declares(word, target, db) {
        return "it writes to “\(target)”, whose declaration says ON CONFLICT \(word.uppercased())"
      }
      if closed.contains(name) {
        return "it writes to “\(target)”, a view whose own trigger does not run"
      }
    }
    if !trigger.isTemporary, let name = text.names.first(where: surroundings.hidden.contains) {
      return "a temporary table or view has the name “\(name)” too"
    }
    return nil
  }

  /// Whether a table's declaration says ON CONFLICT, and then the given word.
  fileprivate static func declares(_ word: String?, _ table: String, _ db: Database) throws
    -> Bool
  {
    let select = try FastStatement(
      db, "SELECT sql FROM main.sqlite_master WHERE type = 'table' AND name = ? COLLATE NOCASE")
    select.bind(1, copy: .string(table))
    let sql = try select.first { select.text(0) } ?? ""
    // Nearly none has the word at all.
    guard sql.folded.contains("conflict") else { return false }
    let tokens = SQLText(sql).tokens
    return tokens.indices.dropFirst().dropLast().contains {
      tokens[$0 - 1].isWord("on") && tokens[$0].isWord("conflict")
        && (word.map(tokens[$0 + 1].isWord) ?? true)
    }
  }
}

extension AppTriggers {
  /// Whether a table says by itself what becomes of a conflict.
  static func declaresConflicts(_ table: String, _ db: Database) throws -> Bool {
    try declares(nil, table, db)
  }
}
