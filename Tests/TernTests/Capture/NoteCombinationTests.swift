import GRDB
import TernCore
import TestDevice
import Testing

@testable import Tern

private let creation = """
  CREATE TABLE t (
    id TEXT NOT NULL PRIMARY KEY, u TEXT UNIQUE, a TEXT, n INTEGER NOT NULL DEFAULT 0, l TEXT)
  """

private func schema(_ deletes: DeleteRule) -> SyncSchema {
  SyncSchema(
    version: 1,
    tables: [SyncTable("t", merge: ["n": .counter], deletes: deletes, local: ["l"])])
}

private func insertion(_ lives: [NotedLife]) -> String {
  "INSERT INTO t VALUES "
    + lives.map { "('\($0.key)', '\($0.key)', 'begun', 10, 'l')" }.joined(separator: ", ")
}

/// Two devices on which all lives have begun; only the first goes on.
private func begun(_ lives: [NotedLife], _ deletes: DeleteRule) throws -> (Device, Device) {
  let (a, b) = try Device.pair(schema(deletes), creation)
  let known = lives.filter { ![.never, .migrated].contains($0.beginning) }
  try a.commit(insertion(known))
  for life in known where life.beginning != .alive {
    try a.execute("DELETE FROM t WHERE id = '\(life.key)'")
  }
  try meet(a, b)
  let migrated = lives.filter(\.beginning.isMigrated)
  if migrated.isEmpty { return (a, b) }
  let step = insertion(migrated)
  return (try a.upgraded(schema(deletes), step), try b.upgraded(schema(deletes), step))
}

extension Device {
  /// What operations have of each row, by its key.
  fileprivate func changes(in operations: [SyncOperation]) throws -> [String: [NotedChange]] {
    var changes: [String: [NotedChange]] = [:]
    for operation in operations {
      try operation.bytes.dropFirst(operation.bodyOffset).withUnsafeBytes { bytes in
        var (reader, row) = (BodyReader(bytes), BodyRow())
        while let block = try reader.nextBlock() {
          while try reader.nextRow(&row, of: block) {
            let key = String(decoding: row.key[0].content, as: UTF8.self)
            let columns = Set(zip(block.columns, row.isCarried).filter(\.1).map(\.0.name))
            changes[key, default: []].append(
              row.kind == .delete ? .deleted : row.kind == .insert ? .inserted : .written(columns))
          }
        }
      }
    }
    return changes
  }
}

extension [NotedChange] {
  /// Neighbours as one, however many notes there were; of a row that stood, an insert into the same
  /// life is a write of every column.
  fileprivate func joined(isKnown: Bool) -> [NotedChange] {
    reduce(into: []) { joined, change in
      let change = isKnown && change == .inserted ? .written(["u", "a", "n"]) : change
      if case .written(let more) = change, case .written(let columns)? = joined.last {
        joined[joined.count - 1] = .written(columns.union(more))
      } else {
        joined.append(change)
      }
    }
  }
}

/// Whatever notes a key has between two seals, in whichever order: the seal has to make of them what
/// became of the row.
@Suite("Capture: every combination of notes")
struct NoteCombinationTests {
  private static let rules: [DeleteRule] = [.deleteWins, .updateWins, .lastWriter]
  private static let beginnings: [[Beginning]] = [[.never, .alive, .dead], Beginning.allCases]

  private static func lives(from beginnings: [Beginning]) -> [NotedLife] {
    (1...3).flatMap { NotedLife.all(of: $0, from: beginnings) }
  }

  @Test(arguments: rules, beginnings)
  func `what travels of a row is what became of it`(
    _ deletes: DeleteRule, _ beginnings: [Beginning]
  ) throws {
    let lives = Self.lives(from: beginnings)
    let (a, b) = try begun(lives, deletes)
    try a.database.write { db in
      for sql in lives.flatMap(\.statements) { try db.execute(sql: sql) }
    }
    try a.store.seal()
    let sent = try a.store.operations(lackedBy: b.store.versionVector(), maximumBytes: .max)
    let changes = try a.changes(in: sent)
    for life in lives {
      let found = (changes[life.key] ?? []).joined(isKnown: life.beginning == .alive)
      let expected = life.travels(keepsContent: deletes != .deleteWins)
      #expect(found == expected, "\(life.key)")
    }
    try b.merge(sent)
    let shown = try b.shown
    #expect(try a.shown == shown)
    for life in lives {
      #expect(shown[life.key] == (life.isThere ? "\(life.a) \(life.n)" : nil), "\(life.key)")
    }
    #expect(try a.store.canonicalState() == b.store.canonicalState())
  }

  /// As by a tool that runs once a day, while nothing seals.
  @Test(arguments: rules, beginnings)
  func `notes of several days make of a row what became of it`(
    _ deletes: DeleteRule, _ beginnings: [Beginning]
  ) throws {
    let lives = Self.lives(from: beginnings)
    let (a, b) = try begun(lives, deletes)
    let note = a.store.access.sql[0].note.noteTable
    for day in 0..<lives.map(\.statements.count).max()! {
      try a.database.write { db in
        for life in lives where day < life.statements.count {
          try db.execute(sql: life.statements[day])
        }
        try db.execute(sql: "UPDATE \(note) SET ms = ms - 86400000")
      }
    }
    #expect(try a.store.seal().count > 1)
    try b.merge(a.store.operations(lackedBy: b.store.versionVector(), maximumBytes: .max))
    let shown = try b.shown
    #expect(try a.shown == shown)
    for life in lives {
      #expect(shown[life.key] == (life.isThere ? "\(life.a) \(life.n)" : nil), "\(life.key)")
    }
    #expect(try a.store.canonicalState() == b.store.canonicalState())
  }

  @Test(arguments: rules, beginnings)
  func `an undo takes away what began here and leaves what a migration brought`(
    _ deletes: DeleteRule, _ beginnings: [Beginning]
  ) throws {
    let lives = Self.lives(from: beginnings)
    let (a, _) = try begun(lives, deletes)
    try a.database.write { db in
      for sql in lives.flatMap(\.statements) { try db.execute(sql: sql) }
    }
    let undone = try #require(try a.store.undo())
    let actions = Dictionary(uniqueKeysWithValues: undone.rows.map { ($0.key, $0.action) })
    for life in lives where life.beginning != .alive && life.isThere {
      let expected: UndoneOperation.Row.Action? =
        life.isMigrated ? .left : life.beginning.isMigrated ? nil : .removed
      #expect(actions[[.string(life.key)]] == expected, "\(life.key)")
    }
  }
}

extension Device {
  /// The rows by their keys, as far as they are of lives.
  fileprivate var shown: [String: String] {
    get throws {
      let rows = try rows("SELECT id, a || ' ' || n FROM t")
      return Dictionary(
        uniqueKeysWithValues: rows.map {
          (String.fromDatabaseValue($0[0])!, String.fromDatabaseValue($0[1])!)
        })
    }
  }
}
