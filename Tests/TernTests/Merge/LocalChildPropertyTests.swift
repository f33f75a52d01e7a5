import GRDB
import Rehearsals
import TernTesting
import TestDevice
import Testing

@testable import Tern

@Suite("Merge: local rows over seeds")
struct LocalChildPropertyTests {
  @Test(arguments: Rehearsal.seeds(1...200, short: 30))
  func `INV-15: go only with a parent that is deleted at a pull's end`(_ seed: UInt64) throws {
    #expect(throws: Never.self) { try LocalWorld(seed).run() }
  }

  #if Rehearsal
  @Test(arguments: Planted.ofLocalChildren)
  func `a planted bug of local rows is caught within fifty seeds`(_ bug: Planted) throws {
    let caught = try (UInt64(1)...50).first { seed in
      do {
        try Planted.with(bug) { try LocalWorld(seed).run() }
        return false
      } catch is LocalWorld.Difference {
        return true
      }
    }
    print("\(bug.rawValue) caught by seed \(caught ?? 0)")
    #expect(caught != nil)
  }
  #endif
}

/// Two devices that write to synced tables, and one that has tables of its own besides.
private final class LocalWorld {
  /// A device shows something else than the model says.
  struct Difference: Error {
    let what: String
  }

  private let seed: UInt64
  private var generator: SeededGenerator
  private let references: [LocalModel.Reference]
  private let device: Device
  private let others: [Device]
  /// Whether what nobody has seen yet went from its table, or was deleted anew.
  private var gone: Set<[String]> = []
  /// Deleted rows that a merge wrote to again: what was refused before may be tried once more.
  private var touched: Set<[String]> = []
  private var rowCount = 0

  init(_ seed: UInt64) throws {
    self.seed = seed
    generator = SeededGenerator(seed: seed)
    let drawn = Self.draw(&generator)
    references = drawn.references
    let deletes = [DeleteRule.deleteWins, .updateWins, .lastWriter].randomElement(
      using: &generator)!
    let schema = SyncSchema(
      version: 1,
      tables: [
        SyncTable("item", deletes: deletes), SyncTable("leaf"), SyncTable("list", deletes: deletes),
      ])
    func open(_ id: UInt64) throws -> Device {
      try Device(schema, id: id) { try $0.execute(sql: drawn.creation) }
    }
    device = try open(1)
    others = [try open(2), try open(3)]
  }

  /// Two or three local tables that refer to synced ones, to each other and to themselves; behind
  /// the first there are rows that sync.
  private static func draw(_ generator: inout SeededGenerator) -> (
    creation: String, references: [LocalModel.Reference]
  ) {
    var creation = """
      CREATE TABLE list (id TEXT NOT NULL PRIMARY KEY, name TEXT UNIQUE);
      CREATE TABLE item (
        id TEXT NOT NULL PRIMARY KEY, list TEXT REFERENCES list ON DELETE CASCADE, name TEXT);
      CREATE TABLE leaf (
        id TEXT NOT NULL PRIMARY KEY, ref TEXT REFERENCES own0 ON DELETE CASCADE);

      """
    var references: [LocalModel.Reference] = []
    for index in 0..<Int.random(in: 2...3, using: &generator) {
      let table = "own\(index)"
      var columns = ["id TEXT NOT NULL PRIMARY KEY"]
      var added: [LocalModel.Reference] = []
      for column in ["a", "b"].prefix(Int.random(in: 1...2, using: &generator)) {
        let locals = (0...index).map { "own\($0)" }
        let parent =
          column == "a" && generator.happens(0.7)
          ? ["list", "item"].randomElement(using: &generator)!
          : (["list", "item"] + locals).randomElement(using: &generator)!
        let action = LocalModel.Action.allCases.randomElement(using: &generator)!
        let standard = generator.happens(0.5) ? nil : "\(parent.prefix(4))0"
        let reference = LocalModel.Reference(
          child: table, column: column, parent: parent, action: action,
          isRequired: generator.happens(0.2) && parent != table, standard: standard)
        added.append(reference)
        columns.append(
          "\(column) TEXT \(reference.isRequired ? "NOT NULL" : "") "
            + (standard.map { "DEFAULT '\($0)' " } ?? "")
            + "REFERENCES \(parent) ON DELETE \(action.rawValue)")
      }
      // SQLite numbers them from the last.
      references += added.reversed()
      let end = generator.happens(0.3) ? "WITHOUT ROWID" : ""
      creation += "CREATE TABLE \(table) (\(columns.joined(separator: ", "))) \(end);\n"
    }
    return (creation, references)
  }

  func run() throws {
    for _ in 0..<Int.random(in: 10...30, using: &generator) {
      for _ in 0..<Int.random(in: 0...4, using: &generator) { try writeLocal() }
      for other in others {
        for _ in 0..<Int.random(in: 0...4, using: &generator) { try write(other) }
        if generator.happens(0.3) { try other.pull(from: others[0]) }
      }
      try pull(from: others.randomElement(using: &generator)!)
      for other in others where generator.happens(0.2) { try other.pull(from: device) }
    }
    for _ in 0..<2 {
      try pull(from: others[0])
      try pull(from: others[1])
      for other in others { try other.pull(from: device) }
    }
    for other in others {
      try expectSame(state(device), state(other), "the states")
    }
    let diagnosis = try device.database.read { try DatabaseDiagnosis($0) }
    try expectSame(
      diagnosis.findings.map(\.check).filter { $0 != "sqlite-references" }, [], "the doctor")
  }

  private func expectSame<T: Equatable>(_ one: T, _ other: T, _ what: String) throws {
    if one != other { throw Difference(what: "seed \(seed), \(what): \(one), and \(other)") }
  }

  // MARK: - Merging

  /// One operation a page; not always to the end.
  private func pull(from other: Device) throws {
    try device.store.seal()
    try noteGone { _ in }
    let head = try device.store.ownHead().sequence
    try other.store.seal()
    let operations = try other.store.operations(
      lackedBy: device.store.versionVector(), maximumBytes: .max)
    var before = try model()
    let isWhole = generator.happens(0.8)
    for operation in operations {
      try noteGone { _ in try LocalChild.mergePage(device, [operation], hasMore: true) }
      let after = try model()
      try expectSame(after.allRows, before.allRows, "before the pull's end")
      before.synced = after.synced
    }
    guard isWhole else { return }
    let deleted = try deletions().keys
    var again = before
    let lost = gone.filter(deleted.contains)
    before.lose(lost)
    again.lose(lost.union(touched.filter(deleted.contains)))
    let kept = try state(device)
    try LocalChild.mergePage(device, [], hasMore: false)
    gone.subtract(deleted)
    touched.subtract(deleted)
    let after = try model()
    if after.allRows != again.allRows {
      try expectSame(after.allRows, before.allRows, "at the pull's end, without \(lost)")
    }
    // No row that syncs was deleted, nor anything else written by this device.
    try expectSame(state(device), kept, "the state")
    try device.store.seal()
    try expectSame(device.store.ownHead().sequence, head, "own operations")
    let orphans = try device.rows("SELECT * FROM leaf JOIN pragma_foreign_key_check('leaf')")
    try expectSame(orphans, [], "rows without what they refer to")
  }

  /// Wherever its rows are: what local rows keep out of a table is this device's own.
  private func state(_ device: Device) throws -> [CanonicalRow] {
    try device.store.canonicalState().map { row in
      var row = row
      row.isShown = false
      if row.table == "leaf" { row.cells = [:] }
      return row
    }
  }

  /// The tombstones of rows to which others refer.
  private func deletions() throws -> [[String]: RowState] {
    let rows = try state(device)
    return try device.store.access.read { transaction in
      var found: [[String]: RowState] = [:]
      for sql in transaction.sql where sql.shape.name != "leaf" {
        let writer = try TableWriter(transaction, sql, hasHeld: true)
        for row in rows where row.table == sql.shape.name {
          let state = try writer.state(of: PackedKey.bytes(of: row.key))
          if let state, state.deletion != nil { found[[row.table, row.key[0].string!]] = state }
        }
      }
      return found
    }
  }

  /// Notes the synced rows that leave their tables in it, and those that are deleted then.
  private func noteGone(_ body: (Device) throws -> Void) throws {
    let (shown, deleted) = (try model().synced, try deletions())
    try body(device)
    let after = try model().synced
    for (table, keys) in shown {
      for key in keys.subtracting(after[table] ?? []) { gone.insert([table, key]) }
    }
    for (row, state) in try deletions() where deleted[row] != state {
      if deleted[row]?.life != state.life { gone.insert(row) } else { touched.insert(row) }
    }
  }

  private func model() throws -> LocalModel {
    var model = LocalModel(references: references)
    for table in ["list", "item"] {
      model.synced[table] = Set(try device.column("SELECT id FROM \(table)").compactMap { $0 })
    }
    for reference in references {
      for row in try device.rows("SELECT id, \(reference.column) FROM \(reference.child)") {
        let value = String.fromDatabaseValue(row[1])
        let key = String.fromDatabaseValue(row[0])!
        model.rows[reference.child, default: [:]][key, default: [:]][reference.column] = .some(
          value)
      }
    }
    return model
  }

  // MARK: - Writing

  private func number(_ count: Int) -> Int { Int.random(in: 0..<count, using: &generator) }

  private func write(_ device: Device) throws {
    let (list, item) = ("'list\(number(4))'", "'item\(number(4))'")
    let sql =
      switch number(7) {
      case 0, 1: "INSERT OR IGNORE INTO list VALUES (\(list), '\(number(5))')"
      case 2: "DELETE FROM list WHERE id = \(list)"
      case 3: "UPDATE OR IGNORE list SET name = '\(number(5))' WHERE id = \(list)"
      case 4: "INSERT OR IGNORE INTO item VALUES (\(item), \(list), '\(number(3))')"
      case 5: "UPDATE item SET list = \(list), name = '\(number(3))' WHERE id = \(item)"
      default: "DELETE FROM item WHERE id = \(item)"
      }
    try attempt(device, sql)
    if generator.happens(0.6) { try device.store.seal() }
  }

  private func writeLocal() throws {
    let table = references.randomElement(using: &generator)!.child
    let own = references.filter { $0.child == table }
    rowCount += 1
    // Rows of a table are numbered as they come, so that they stand in the order of their keys.
    let key = "own\(table.last!)\(1000 + rowCount)"
    let values = own.map { reference -> String in
      if !reference.isRequired, generator.happens(0.2) { return "NULL" }
      return "(SELECT id FROM \(reference.parent) ORDER BY id LIMIT 1 OFFSET \(number(3)))"
    }
    let sql =
      switch number(6) {
      case 0: "DELETE FROM \(table) WHERE id = (SELECT min(id) FROM \(table))"
      case 1: "INSERT OR REPLACE INTO leaf VALUES ('leaf\(number(5))', (SELECT max(id) FROM own0))"
      default:
        "INSERT INTO \(table) (id, \(own.map(\.column).joined(separator: ", "))) "
          + "VALUES ('\(key)', \(values.joined(separator: ", ")))"
      }
    try attempt(device, sql)
    if generator.happens(0.1) { try write(device) }
  }

  private func attempt(_ device: Device, _ sql: String) throws {
    do {
      try device.execute(sql)
    } catch let error as DatabaseError where error.resultCode == .SQLITE_CONSTRAINT {
      // The app is told, and nothing is written.
    }
  }
}
