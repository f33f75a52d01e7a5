import GRDB
import Rehearsals
import Tern
import TernTesting
import TestDevice
import Testing

/// Two UNIQUE indexes, so that a row can lose to several; a parent that UNIQUE itself may keep out;
/// a reference to the table itself; and rows that refer to all that.
private let creation = """
  CREATE TABLE shelf (id TEXT NOT NULL PRIMARY KEY, name UNIQUE);
  CREATE TABLE tag (
    id TEXT NOT NULL PRIMARY KEY, name TEXT COLLATE NOCASE, code, shelf TEXT REFERENCES shelf,
    above TEXT REFERENCES tag ON DELETE CASCADE, note, sameAs TEXT,
    CHECK (note IS NULL OR note <> code));
  CREATE UNIQUE INDEX tag_name ON tag (name) WHERE sameAs IS NULL;
  CREATE UNIQUE INDEX tag_code ON tag (code) WHERE sameAs IS NULL;
  CREATE TABLE use (id TEXT NOT NULL PRIMARY KEY, tag TEXT REFERENCES tag ON DELETE CASCADE);
  """

private let schema = SyncSchema(
  version: 1,
  tables: [
    SyncTable("shelf"), SyncTable("tag", collisions: .fold(into: "sameAs")), SyncTable("use"),
  ])

private let names = ["n", "N", "m", "M", "o"]

@Suite("Settlement: rows that mean the same over seeds")
struct FoldPropertyTests {
  @Test(arguments: Rehearsal.seeds(1...60, short: 10))
  func `tables and pointers follow from the state, in any order (INV-01)`(_ seed: UInt64) throws {
    #expect(throws: Never.self) { try run(seed) }
  }

  #if Rehearsal
  @Test(arguments: Planted.ofFolds)
  func `a planted bug of folding is caught within three hundred seeds`(_ bug: Planted) throws {
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
    // With one index alone, what a folded row waits for is known.
    let creation =
      seed.isMultiple(of: 3)
      ? creation.replacing("UNIQUE INDEX tag_code", with: "INDEX tag_code") : creation
    func device(_ id: Int) throws -> Device {
      try Device(schema, id: UInt64(id)) { try $0.execute(sql: creation) }
    }
    let authors = try (1...3).map(device)
    for _ in 0..<Int.random(in: 20...70, using: &generator) {
      let index = Int.random(in: 0..<3, using: &generator)
      try write(authors[index], &generator)
      if generator.happens(0.3) {
        try authors[index].store.seal()
        try expectModel(authors[index])
      }
      if generator.happens(0.1) { try authors[index].pull(from: authors[(index + 1) % 3]) }
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
      for table in ["shelf", "tag", "use"] {
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
    let hasCode = try device.database.read { try $0.indexes(on: "tag") }
      .contains { $0.name == "tag_code" && $0.isUnique }
    let model = Model(try device.store.canonicalState(), hasCode: hasCode)
    let tags = try device.database.read {
      try Row.fetchAll($0, sql: "SELECT id, sameAs FROM tag").map {
        ($0[0] as String, $0[1] as String?)
      }
    }
    try expectSame(Dictionary(uniqueKeysWithValues: tags), model.tags, "tags")
    try expectSame(
      Set(device.column("SELECT id FROM use").compactMap { $0 }), model.uses, "uses")
    // As Docs/Conflicts.md has an app ask.
    let pairs = try device.rows(
      """
      SELECT DISTINCT g.id, u.id FROM use AS u
      JOIN tag AS t ON t.id = u.tag JOIN tag AS g ON g.id = coalesce(t.sameAs, t.id)
      """)
    try expectSame(
      Set(pairs.map { $0.map { String.fromDatabaseValue($0)! } }), model.pairs, "pairs")
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

  private func write(_ device: Device, _ generator: inout SeededGenerator) throws {
    func number(_ count: Int) -> Int { Int.random(in: 0..<count, using: &generator) }
    func some(_ text: String) -> String { generator.happens(0.2) ? "NULL" : text }
    let (tag, shelf) = ("'t\(number(7))'", "'s\(number(3))'")
    let name = some("'\(names[number(5)])'")
    let clause = ["OR REPLACE", "OR IGNORE", ""][number(3)]
    let column = ["name", "code", "shelf", "above", "note"][number(5)]
    let value =
      switch column {
      case "name": name
      case "code", "note": some("\(number(4))")
      case "shelf": some(shelf)
      default: some("'t\(number(7))'")
      }
    let sql =
      switch number(9) {
      case 0, 1:
        """
        INSERT \(clause) INTO tag (id, name, code, shelf, above)
        VALUES (\(tag), \(name), \(some("\(number(4))")), \(generator.happens(0.3) ? shelf : "NULL"),
          \(generator.happens(0.3) ? "'t\(number(7))'" : "NULL"))
        """
      case 2, 3: "UPDATE \(clause) tag SET \(column) = \(value) WHERE id = \(tag)"
      case 4: "DELETE FROM tag WHERE id = \(tag)"
      case 5: "INSERT \(clause) INTO shelf VALUES (\(shelf), \(number(2)))"
      case 6:
        generator.happens(0.5)
          ? "DELETE FROM shelf WHERE id = \(shelf)"
          : "UPDATE \(clause) shelf SET name = \(number(3)) WHERE id = \(shelf)"
      default: "INSERT \(clause) INTO use VALUES ('u\(number(9))', \(some(tag)))"
      }
    do {
      try device.execute(sql)
    } catch let error as DatabaseError where error.resultCode == .SQLITE_CONSTRAINT {
      // The app is told, and nothing is written.
    }
  }
}

/// The rule by its own words, over all rows at once.
private struct Model {
  /// With what each points to.
  var tags: [String: String?] = [:]
  var uses: Set<String> = []
  /// Each use with the tag that a person sees it under.
  var pairs: Set<[String]> = []

  /// - Parameter hasCode: whether codes are UNIQUE, and not names alone.
  init(_ state: [CanonicalRow], hasCode: Bool) {
    let walked = Self.standing(state.filter(\.isAccepted)).sorted {
      ($0.time, $0.author!, $0.key[0]) < ($1.time, $1.author!, $1.key[0])
    }
    func places(_ row: CanonicalRow) -> [[SQLiteValue]] {
      row.places.filter { hasCode || $0[0] != "code" }
    }
    var taken: [[SQLiteValue]: RowName] = [:]
    var contenders: [CanonicalRow] = []
    var losers: [CanonicalRow] = []
    for row in walked {
      if places(row).allSatisfy({ taken[$0] == nil }) {
        for place in places(row) { taken[place] = row.name }
        contenders.append(row)
      } else if row.table == "tag" {
        contenders.append(row)
        losers.append(row)
      }
    }
    let order = Dictionary(uniqueKeysWithValues: walked.enumerated().map { ($1.name, $0) })
    let rivals = Dictionary(
      uniqueKeysWithValues: losers.map { row in
        (row.name, places(row).compactMap { taken[$0] }.sorted { order[$0]! < order[$1]! })
      })
    let stand = Self.standing(contenders, rivals)
    let shown = Set(stand.map(\.name))
    for row in stand {
      if row.table == "use" { uses.insert(row.key[0].string!) }
      guard row.table == "tag" else { continue }
      tags[row.key[0].string!] = .some(rivals[row.name]?.first(where: shown.contains)?.key.string)
    }
    for row in stand where row.table == "use" {
      guard let tag = row.cells["tag"]?.value.string else { continue }
      pairs.insert([(tags[tag] ?? nil) ?? tag, row.key[0].string!])
    }
  }

  /// The greatest set in which every row has its parents, and every loser a winner.
  private static func standing(_ rows: [CanonicalRow], _ rivals: [RowName: [RowName]] = [:])
    -> [CanonicalRow]
  {
    let names = Set(rows.map(\.name))
    let rest = rows.filter { row in
      row.parents.allSatisfy(names.contains)
        && rivals[row.name].map { $0.contains(where: names.contains) } ?? true
    }
    return rest.count == rows.count ? rest : standing(rest, rivals)
  }
}

private struct RowName: Hashable {
  let table: String
  let key: SQLiteValue
}

extension CanonicalRow {
  fileprivate var name: RowName { RowName(table: table, key: key[0]) }

  private func value(_ column: String) -> SQLiteValue { cells[column]?.value ?? .null }

  /// Whether it is alive and whole, and CHECK takes it.
  fileprivate var isAccepted: Bool {
    guard life % 2 == 1, author != nil else { return false }
    return value("note") == .null || value("code") == .null || value("note") != value("code")
  }

  fileprivate var parents: [RowName] {
    let references =
      switch table {
      case "tag":
        [RowName(table: "shelf", key: value("shelf")), RowName(table: "tag", key: value("above"))]
      case "use": [RowName(table: "tag", key: value("tag"))]
      default: [RowName]()
      }
    return references.filter { $0.key != .null }
  }

  /// What it has in UNIQUE indexes.
  fileprivate var places: [[SQLiteValue]] {
    let named = value("name").string.map { SQLiteValue.string($0.uppercased()) } ?? .null
    let all: [[SQLiteValue]] =
      switch table {
      case "shelf": [["shelf", value("name")]]
      case "tag": [["name", named], ["code", value("code")]]
      default: []
      }
    return all.filter { !$0.contains(.null) }
  }
}
