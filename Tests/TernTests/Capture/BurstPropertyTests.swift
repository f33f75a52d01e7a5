import GRDB
import Rehearsals
import TernCore
import TernTesting
import TestDevice
import Testing

@testable import Tern

/// A seal of several bursts against a device that seals after each: what is written has the same time.
@Suite("Capture: bursts over seeds")
struct BurstPropertyTests {
  @Test(arguments: Rehearsal.seeds(1...400, short: 60))
  func `INV-02: what is sealed late has the time of its burst`(_ seed: UInt64) throws {
    #expect(throws: Never.self) { try BurstWorld(seed).run() }
  }

  #if Rehearsal
  @Test(arguments: Planted.ofSeals)
  func `a planted bug of seals is caught within fifty seeds`(_ bug: Planted) throws {
    let caught = try (UInt64(1)...50).first { seed in
      do {
        try Planted.with(bug) { try BurstWorld(seed).run() }
        return false
      } catch is BurstWorld.Difference {
        return true
      }
    }
    print("\(bug.rawValue) caught by seed \(caught ?? 0)")
    #expect(caught != nil)
  }
  #endif
}

/// Two devices with one user, who writes the same to both. One seals when all is written.
///
/// No column has an extreme: one that was written over between two seals is known to nobody.
private final class BurstWorld {
  struct Difference: Error {
    let what: String
  }

  private static let creation = """
    CREATE TABLE t (
      id TEXT NOT NULL PRIMARY KEY, u TEXT UNIQUE, a, b, n INTEGER NOT NULL DEFAULT 0,
      tags TEXT NOT NULL DEFAULT '[]', body TEXT NOT NULL DEFAULT '');
    CREATE TABLE s (id TEXT NOT NULL PRIMARY KEY, a, b)
    """
  /// Of the first burst; a day more for each that follows.
  private static let begin: Int64 = 1_700_000_000_000
  private static let day: Int64 = 86_400_000
  /// Of last writers: others have the time of no write of their own.
  private static let columns = ["t": ["u", "a", "b"], "s": ["a", "b"]]

  private let seed: UInt64
  private let schema: SyncSchema
  private let late, prompt: Device
  private var generator: SeededGenerator
  /// Rows that came or went in a burst, or may have, all of which is of the last burst that wrote to them.
  private var replaced: Set<String> = []
  private var touchesUnique = true

  init(_ seed: UInt64) throws {
    self.seed = seed
    generator = SeededGenerator(seed: seed)
    let deletes = [DeleteRule.deleteWins, .updateWins, .lastWriter].randomElement(
      using: &generator)!
    schema = SyncSchema(
      version: 1,
      tables: [
        SyncTable(
          "t", merge: ["n": .counter, "tags": .set, "body": .text], deletes: deletes),
        SyncTable("s", deletes: deletes),
      ])
    (late, prompt) = try Device.pair(schema, Self.creation)
  }

  func run() throws {
    try write(burst: 0)
    for device in [late, prompt] { try device.store.seal() }
    replaced = []
    touchesUnique = Bool.random(using: &generator)
    for burst in 1...Int64.random(in: 2...5, using: &generator) {
      try write(burst: burst)
      try prompt.store.seal()
    }
    try late.store.seal()
    for table in Self.columns.keys.sorted() {
      let query = "SELECT * FROM \(table) ORDER BY id"
      guard try late.rows(query) == prompt.rows(query) else {
        throw Difference(what: "seed \(seed): \(table) shows something else")
      }
    }
    let (found, expected) = (try times(late), try times(prompt))
    for (place, time) in expected {
      let row = String(place.prefix(while: { $0 != "." }))
      let late = found[place] ?? -1
      if replaced.contains(row) ? late >= time : late == time { continue }
      throw Difference(
        what: "INV-02: seed \(seed): \(place) was written in burst \(time), and is sealed as if in "
          + "\(late)")
    }
    // To who has nothing of either, both say the same.
    let copies = try [late, prompt].map { device -> Device in
      let copy = try Device(schema, id: 3) { try $0.execute(sql: Self.creation) }
      try copy.pull(from: device)
      return copy
    }
    for table in Self.columns.keys.sorted() {
      let query = "SELECT * FROM \(table) ORDER BY id"
      guard try copies[0].rows(query) == copies[1].rows(query),
        try copies[0].rows(query) == late.rows(query)
      else { throw Difference(what: "INV-01: seed \(seed): \(table) differs elsewhere") }
    }
  }

  /// A few transactions on both, and their notes' times set to the burst's.
  private func write(burst: Int64) throws {
    for _ in 0..<Int.random(in: 1...4, using: &generator) {
      let statements = (0..<Int.random(in: 1...3, using: &generator)).map { _ in statement() }
      for device in [late, prompt] { try device.execute(statements.joined(separator: ";")) }
    }
    for device in [late, prompt] {
      for sql in device.store.access.sql {
        try device.execute(
          "UPDATE \(sql.note.noteTable) SET ms = ? WHERE ms > ?",
          [Self.begin + burst * Self.day, Self.begin + 100 * Self.day])
      }
    }
  }

  private func statement() -> String {
    let key = Int.random(in: 1...4, using: &generator)
    let other = Int.random(in: 1...4, using: &generator)
    let value = Int.random(in: 1...99, using: &generator)
    var kind = Int.random(in: 0..<14, using: &generator)
    if !touchesUnique, [0, 1, 6, 7].contains(kind) { kind = 4 + kind % 2 }
    let (table, isUpdate) = ([2, 3, 10, 11, 13].contains(kind) ? "s" : "t", (4...9) ~= kind)
    if !isUpdate, kind != 11 { replaced.formUnion(["\(table)/\(key)", "\(table)/\(other)"]) }
    // Whatever row has that UNIQUE value is noted as one that may go.
    if [0, 1, 6, 7].contains(kind) { replaced.formUnion((1...4).map { "t/\($0)" }) }
    return [
      "INSERT OR IGNORE INTO t (id, u, a, n) VALUES ('\(key)', 'u\(other)', \(value), \(value))",
      "INSERT OR REPLACE INTO t (id, u, a, body) VALUES ('\(key)', 'u\(other)', \(value), 'x')",
      "INSERT OR REPLACE INTO s VALUES ('\(key)', \(value), \(value))",
      "INSERT INTO s VALUES ('\(key)', \(value), 0) ON CONFLICT DO UPDATE SET b = \(value)",
      "UPDATE t SET a = \(value) WHERE id = '\(key)'",
      "UPDATE t SET b = \(value), n = n + 1 WHERE id = '\(key)'",
      "UPDATE OR IGNORE t SET u = 'u\(other)' WHERE id = '\(key)'",
      "UPDATE OR REPLACE t SET u = 'u\(other)' WHERE id = '\(key)'",
      "UPDATE t SET tags = json_insert(tags, '$[#]', \(value)) WHERE id = '\(key)'",
      "UPDATE t SET body = body || '\(value)', a = \(value) WHERE id = '\(key)'",
      "UPDATE OR IGNORE s SET id = '\(other)' WHERE id = '\(key)'",
      "UPDATE s SET a = \(value) WHERE id = '\(key)'",
      "DELETE FROM t WHERE id = '\(key)'", "DELETE FROM s WHERE id = '\(key)'",
    ][kind]
  }

  /// The burst of the last write, of each last writer's column of each row that is there.
  private func times(_ device: Device) throws -> [String: Int64] {
    var found: [String: Int64] = [:]
    for operation in try device.store.operations(
      lackedBy: VersionVector(), maximumBytes: .max)
    {
      let burst = (operation.envelope.time.milliseconds - Self.begin) / Self.day
      try operation.bytes.dropFirst(operation.bodyOffset).withUnsafeBytes { bytes in
        var (reader, row) = (BodyReader(bytes), BodyRow())
        while let block = try reader.nextBlock() {
          while try reader.nextRow(&row, of: block) {
            let key = String(decoding: row.key[0].content, as: UTF8.self)
            for (column, isCarried) in zip(block.columns, row.isCarried) where isCarried {
              found["\(block.table)/\(key).\(column.name)"] = burst
            }
          }
        }
      }
    }
    let shown = try Self.columns.flatMap { table, columns in
      try device.rows("SELECT id FROM \(table)").flatMap { row in
        columns.map { "\(table)/\(String.fromDatabaseValue(row[0])!).\($0)" }
      }
    }
    return found.filter { Set(shown).contains($0.key) }
  }
}
