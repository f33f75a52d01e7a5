import GRDB
import Rehearsals
import Tern
import TernTesting
import TestDevice
import Testing

/// A reference that sets NULL, to rows that go with others; one that sets a default, by which rows
/// can collide; one to the table itself; and rows that refer to all that.
private let creation = """
  CREATE TABLE place (id TEXT NOT NULL PRIMARY KEY);
  CREATE TABLE list (
    id TEXT NOT NULL PRIMARY KEY, place TEXT REFERENCES place ON DELETE CASCADE,
    above TEXT REFERENCES list ON DELETE CASCADE);
  CREATE TABLE shelf (id TEXT NOT NULL PRIMARY KEY, name UNIQUE);
  CREATE TABLE item (
    id TEXT NOT NULL PRIMARY KEY, list TEXT REFERENCES list ON DELETE SET NULL,
    shelf TEXT DEFAULT 's0' REFERENCES shelf ON DELETE SET DEFAULT,
    part TEXT REFERENCES item ON DELETE SET NULL, n, note, UNIQUE (shelf, n),
    CHECK (note IS NULL OR note = 1 OR list IS NOT NULL));
  CREATE TABLE use (
    id TEXT NOT NULL PRIMARY KEY, item TEXT REFERENCES item ON DELETE CASCADE,
    list TEXT REFERENCES list ON DELETE SET NULL);
  """

private let tables = ["place", "list", "shelf", "item", "use"]

@Suite("Settlement: rows without deleted parents over seeds")
struct VeilPropertyTests {
  @Test(arguments: Rehearsal.seeds(1...60, short: 10))
  func `what rows show follows from the state, in any order (INV-01, INV-14)`(_ seed: UInt64) throws
  {
    #expect(throws: Never.self) { try run(seed) }
  }

  #if Rehearsal
  @Test(arguments: Planted.ofVeils)
  func `a planted bug of veils is caught within three hundred seeds`(_ bug: Planted) throws {
    let caught = try Rehearsal.seeds(1...300, catching: bug.rawValue).first { seed in
      do {
        try Planted.with(bug) { try run(seed) }
        return false
      } catch is Difference {
        return true
      }
    }
    print("\(bug.rawValue) caught by seed \(caught ?? 0)")
    #expect(caught != nil)
  }
  #endif

  /// What a device shows is not what the model says, or not what another shows.
  private struct Difference: Error {
    let what: String
  }

  private func expectSame<T: Equatable>(_ one: T, _ other: T, _ what: String) throws {
    if one != other { throw Difference(what: "\(what): \(one), and \(other)") }
  }

  private func run(_ seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    // Without UNIQUE on items, they are settled on another way.
    let creation =
      seed.isMultiple(of: 3) ? creation.replacing(", UNIQUE (shelf, n)", with: "") : creation
    let deletes: DeleteRule = seed.isMultiple(of: 2) ? .updateWins : .deleteWins
    let schema = SyncSchema(
      version: 1, tables: tables.map { SyncTable($0, deletes: deletes) })
    func device(_ id: Int) throws -> Device {
      try Device(schema, id: UInt64(id)) { try $0.execute(sql: creation) }
    }
    let authors = try (1...3).map(device)
    try authors[0].commit(
      """
      INSERT INTO shelf VALUES ('s0', 8), ('s1', 9); INSERT INTO place VALUES ('p0');
      INSERT INTO list VALUES ('l0', NULL, NULL), ('l1', 'p0', NULL), ('l2', NULL, 'l1')
      """)
    for device in authors[1...] { try device.pull(from: authors[0]) }
    for _ in 0..<Int.random(in: 15...50, using: &generator) {
      let index = Int.random(in: 0..<3, using: &generator)
      // With foreign keys off, as the `sqlite3` program has them.
      let isLoose = seed.isMultiple(of: 5) && generator.happens(0.4)
      try write(authors[index], isLoose: isLoose, isMoving: seed % 5 < 2, &generator)
      if generator.happens(0.3) {
        try authors[index].store.seal()
        try expectModel(authors[index])
      }
      if generator.happens(0.2) { try authors[index].pull(from: authors[(index + 1) % 3]) }
    }
    for _ in 0..<2 {
      for index in 0..<3 { try authors[index].pull(from: authors[(index + 1) % 3]) }
    }
    for device in authors { try device.pull(from: authors[0]) }
    let operations = try authors[0].store.operations(lackedBy: .init(), maximumBytes: .max)
    let observers = try (10...12).map(device)
    for observer in observers {
      try merge(operations, into: observer, &generator)
    }
    let newcomer = try device(20)
    try newcomer.load(Parts(of: authors[0]))
    let ends = try (authors + observers).map { try $0.store.counts().operations }
    for device in authors + observers + [newcomer] {
      try expectSame(
        device.store.canonicalState(), authors[0].store.canonicalState(), "seed \(seed), states")
      for table in tables {
        try expectSame(device.exactly(table), authors[0].exactly(table), "seed \(seed), \(table)")
      }
      try expectModel(device)
      let diagnosis = try device.database.read { try DatabaseDiagnosis($0) }
      try expectSame(diagnosis.findings.map { "\($0)" }, [], "seed \(seed), the doctor")
      try expectSame(device.rows("PRAGMA foreign_key_check").count, 0, "seed \(seed), orphans")
      try expectSame(device.column("PRAGMA integrity_check"), ["ok"], "seed \(seed), the file")
    }
    // A merge writes no operations.
    for device in authors { try device.store.seal() }
    try expectSame(
      (authors + observers).map { try $0.store.counts().operations }, ends, "seed \(seed), counts")
  }

  private func expectModel(_ device: Device) throws {
    let isUnique = try device.column("SELECT 1 FROM pragma_index_list('item')").count > 1
    let model = Model(try device.store.canonicalState(), isUnique: isUnique)
    for table in tables {
      let columns = ["id"] + (Model.references[table] ?? []).map(\.column)
      let rows = try device.rows("SELECT \(columns.joined(separator: ", ")) FROM \(table)")
        .map { $0.map { String.fromDatabaseValue($0) } }
      try expectSame(
        Set(rows), Set(model.shown.filter { $0.table == table }.map(\.texts)), table)
    }
    let entries = try device.database.read { try device.replica.inbox(of: [.veiled], in: $0) }
    try expectSame(
      Set(entries.map { "\($0.table) \($0.key)" }),
      Set(model.shown.filter { !$0.veiled.isEmpty }.map { "\($0.table) \([$0.key])" }), "entries")
  }

  /// Merges in a random order that keeps each author's own, in pages of one operation or several.
  private func merge(
    _ operations: [SyncOperation], into device: Device, _ generator: inout SeededGenerator
  ) throws {
    let longest = generator.happens(0.5) ? 1 : 6
    var queues = Array(
      Dictionary(grouping: operations, by: \.envelope.replica).sorted { $0.key < $1.key }
        .map { $0.value[...] })
    while !queues.isEmpty {
      var page: [SyncOperation] = []
      for _ in 0..<Int.random(in: 1...longest, using: &generator) where !queues.isEmpty {
        let index = Int.random(in: queues.indices, using: &generator)
        page.append(queues[index].removeFirst())
        if queues[index].isEmpty { queues.remove(at: index) }
      }
      try device.merge(page)
      try expectModel(device)
    }
  }

  /// Saves a row as records do, every column with what it shows: that is no write of a reference.
  private func save(_ device: Device, _ id: String) throws {
    try device.store.seal()
    func references() throws -> [[String: SQLiteValue?]] {
      try device.store.canonicalState().filter { $0.table == "item" && $0.key[0] == .string(id) }
        .map { row in
          ["list", "shelf", "part"].reduce(into: [:]) { $0[$1] = row.cells[$1]?.value }
        }
    }
    let before = try references()
    try device.execute(
      "REPLACE INTO item SELECT id, list, shelf, part, n, 1 FROM item WHERE id = '\(id)'")
    try device.store.seal()
    try expectSame(references(), before, "saved \(id)")
  }

  /// Gives a row another key, under which it holds what it held, if no other row takes part.
  private func move(_ device: Device, _ id: String, to new: String) throws {
    try device.store.seal()
    func held(_ id: String) throws -> [String: SQLiteValue?] {
      let row = try device.store.canonicalState().first {
        $0.table == "item" && $0.key[0] == .string(id) && $0.isShown
      }
      return ["list", "shelf", "part"].reduce(into: [:]) { $0[$1] = row?.cells[$1]?.value }
    }
    let before = try held(id)
    let isAlone = try device.column("SELECT 1 FROM item WHERE id = '\(new)' OR part = '\(id)'")
      .isEmpty
    let isThere = try !device.column("SELECT 1 FROM item WHERE id = '\(id)'").isEmpty
    guard isAlone, isThere else { return }
    try device.execute("UPDATE item SET id = '\(new)', note = 1 WHERE id = '\(id)'")
    try device.store.seal()
    try expectSame(held(new), before, "moved \(id)")
  }

  private func write(
    _ device: Device, isLoose: Bool, isMoving: Bool, _ generator: inout SeededGenerator
  ) throws {
    func number(_ count: Int) -> Int { Int.random(in: 0..<count, using: &generator) }
    func some(_ text: String) -> String { generator.happens(0.2) ? "NULL" : text }
    let clause = ["OR REPLACE", "OR IGNORE", ""][number(3)]
    /// Rather one that is shown without a parent.
    func anyItem() throws -> String {
      let veiled = try device.database.read { try device.replica.inbox(of: [.veiled], in: $0) }
        .filter { $0.table == "item" }
      return veiled.isEmpty ? "i\(number(6))" : veiled[number(veiled.count)].key[0].string!
    }
    let (item, list) = ("'i\(number(6))'", "'l\(number(4))'")
    let (shelf, place) = ("'s\(number(3) / 2)'", "'p\(number(2))'")
    let column = ["list", "shelf", "part", "n", "note"][number(5)]
    let value =
      switch column {
      case "list": some(list)
      case "shelf": some(shelf)
      case "part": some("'i\(number(6))'")
      default: some("\(number(2))")
      }
    let sql: String
    if isMoving, generator.happens(0.1) {
      return try move(device, anyItem(), to: "i\(number(6))")
    }
    switch number(16) {
    case 0, 1, 2:
      sql = """
        INSERT \(clause) INTO item (id, list, shelf, part, n) VALUES (
          \(item), \(some(list)), \(some(shelf)), \(generator.happens(0.4) ? "'i\(number(6))'" : "NULL"),
          \(some("\(number(2))")))
        """
    case 3, 4: sql = "UPDATE \(clause) item SET \(column) = \(value) WHERE id = \(item)"
    case 5: sql = "DELETE FROM item WHERE id = '\(try anyItem())'"
    case 6:
      sql = """
        INSERT \(clause) INTO list VALUES (
          \(list), \(some(place)), \(generator.happens(0.3) ? "'l\(number(4))'" : "NULL"))
        """
    case 7: sql = "DELETE FROM list WHERE id = \(list)"
    case 8: sql = "INSERT \(clause) INTO place VALUES (\(place))"
    case 9:
      sql =
        generator.happens(0.5)
        ? "DELETE FROM place WHERE id = \(place)" : "DELETE FROM shelf WHERE id = \(shelf)"
    case 10, 11: sql = "INSERT \(clause) INTO shelf VALUES (\(shelf), \(number(4)))"
    case 12: sql = "DELETE FROM shelf WHERE id = 's1'"
    case 13, 14: return try save(device, anyItem())
    default:
      sql = "INSERT \(clause) INTO use VALUES ('u\(number(4))', \(some(item)), \(some(list)))"
    }
    do {
      try device.database.writeWithoutTransaction { db in
        if isLoose { try db.execute(sql: "PRAGMA foreign_keys = OFF") }
        let result = Result { try db.execute(sql: sql) }
        try db.execute(sql: "PRAGMA foreign_keys = ON")
        try result.get()
      }
    } catch let error as DatabaseError where error.resultCode == .SQLITE_CONSTRAINT {
      // The app is told, and nothing is written.
    }
  }
}

/// The rule by its own words, over all rows at once.
private struct Model {
  struct Name: Hashable {
    let table: String
    let key: SQLiteValue
  }

  struct Reference {
    let column: String
    let parent: String
    let action: String
  }

  static let references: [String: [Reference]] = [
    "list": [
      Reference(column: "place", parent: "place", action: "CASCADE"),
      Reference(column: "above", parent: "list", action: "CASCADE"),
    ],
    "item": [
      Reference(column: "list", parent: "list", action: "SET NULL"),
      Reference(column: "shelf", parent: "shelf", action: "SET DEFAULT"),
      Reference(column: "part", parent: "item", action: "SET NULL"),
    ],
    "use": [
      Reference(column: "item", parent: "item", action: "CASCADE"),
      Reference(column: "list", parent: "list", action: "SET NULL"),
    ],
  ]

  /// A row as its table would show it.
  struct Candidate {
    let table: String
    let key: SQLiteValue
    var values: [String: SQLiteValue]
    var veiled: Set<String> = []
    let creation: (HybridTime, ReplicaID, SQLiteValue)

    var name: Name { Name(table: table, key: key) }

    var parents: [Name] {
      (Model.references[table] ?? []).compactMap {
        let value = values[$0.column] ?? .null
        return value == .null ? nil : Name(table: $0.parent, key: value)
      }
    }

    var texts: [String?] {
      [key.string] + (Model.references[table] ?? []).map { values[$0.column]?.string }
    }
  }

  private(set) var shown: [Candidate] = []

  init(_ state: [CanonicalRow], isUnique: Bool) {
    let byName = Dictionary(
      uniqueKeysWithValues: state.map { (Name(table: $0.table, key: $0.key[0]), $0) })
    func isGone(_ name: Name, _ below: Set<Name> = []) -> Bool {
      guard let row = byName[name], !below.contains(name) else { return false }
      if row.isDeleted { return true }
      if row.author == nil { return false }
      return Self.parents(of: row, with: "CASCADE").contains { isGone($0, below.union([name])) }
    }
    let accepted = state.filter { !$0.isDeleted && $0.author != nil }.map { row in
      var candidate = Candidate(
        table: row.table, key: row.key[0], values: row.cells.mapValues(\.value),
        creation: (row.time, row.author!, row.key[0]))
      for reference in Self.references[row.table] ?? [] where reference.action != "CASCADE" {
        let value = candidate.values[reference.column] ?? .null
        guard value != .null, isGone(Name(table: reference.parent, key: value)) else { continue }
        let shown: SQLiteValue = reference.action == "SET NULL" ? .null : .string("s0")
        if shown == value { continue }
        candidate.values[reference.column] = shown
        candidate.veiled.insert(reference.column)
      }
      return candidate
    }.filter(\.isAccepted)
    let walked = Self.standing(accepted).sorted {
      ($0.yields ? 1 : 0, $0.creation.0, $0.creation.1, $0.creation.2)
        < ($1.yields ? 1 : 0, $1.creation.0, $1.creation.1, $1.creation.2)
    }
    var taken: Set<[SQLiteValue]> = []
    let winners = walked.filter { row in
      let places = row.places.filter { isUnique || $0[0] != .string("item") }
      if places.contains(where: taken.contains) { return false }
      taken.formUnion(places)
      return true
    }
    shown = Self.standing(winners)
  }

  private static func parents(of row: CanonicalRow, with action: String) -> [Name] {
    (references[row.table] ?? []).filter { $0.action == action }.compactMap {
      guard let value = row.cells[$0.column]?.value, value != .null else { return nil }
      return Name(table: $0.parent, key: value)
    }
  }

  /// The greatest set in which every row has its parents.
  private static func standing(_ rows: [Candidate]) -> [Candidate] {
    let names = Set(rows.map(\.name))
    let rest = rows.filter { $0.parents.allSatisfy(names.contains) }
    return rest.count == rows.count ? rest : standing(rest)
  }
}

extension Model.Candidate {
  private func value(_ column: String) -> SQLiteValue { values[column] ?? .null }

  fileprivate var isAccepted: Bool {
    guard table == "item" else { return true }
    return value("note") == .null || value("note") == .integer(1) || value("list") != .null
  }

  /// Whether it has its place by a veil.
  fileprivate var yields: Bool { veiled.contains("shelf") }

  /// What it has in UNIQUE indexes.
  fileprivate var places: [[SQLiteValue]] {
    let all: [[SQLiteValue]] =
      switch table {
      case "shelf": [[.string("shelf"), value("name")]]
      case "item": [[.string("item"), value("shelf"), value("n")]]
      default: []
      }
    return all.filter { !$0.contains(.null) }
  }
}
