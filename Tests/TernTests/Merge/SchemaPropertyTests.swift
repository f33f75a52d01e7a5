import GRDB
import Rehearsals
import Tern
import TernTesting
import TestDevice
import Testing

/// Drawn schemas, statements and triggers, over seeds.
@Suite("Merge: schemas that nobody wrote, over seeds")
struct SchemaPropertyTests {
  @Test(arguments: Rehearsal.seeds(1...2000, short: 100))
  func `INV-01, INV-03: Tern changes no statement, and equal states give equal tables`(
    _ seed: UInt64
  ) throws {
    var random = SeededGenerator(seed: seed)
    let drawn = DrawnSchema(using: &random)
    let schema = drawn.schema
    func database(triggers: Bool) throws -> DatabaseQueue {
      let database = try DatabaseQueue()
      try database.write { db in
        for sql in drawn.creation + (triggers ? drawn.triggers : []) { try db.execute(sql: sql) }
      }
      return database
    }
    func device(_ id: UInt64, triggers: Bool = true) throws -> Device {
      try Device(database(triggers: triggers), schema, id: id)
    }
    let authors = try (1...2).map { try device($0) }
    // Each beside the same tables without Tern.
    for author in authors {
      let twin = try database(triggers: true)
      for _ in 0..<Int.random(in: 3...7, using: &random) {
        let statements = (0...Int.random(in: 0...2, using: &random)).map { _ in
          drawn.statement(using: &random)
        }
        let (here, there) = (run(statements, author.database), run(statements, twin))
        #expect(here == there, "seed \(seed): \(statements)")
        let (shown, twins) = try (rows(drawn, author.database), rows(drawn, twin))
        #expect(shown == twins, "seed \(seed): \(statements)")
      }
    }
    for _ in 0..<Int.random(in: 2...8, using: &random) {
      let author = authors.randomElement(using: &random)!
      _ = run([drawn.statement(using: &random)], author.database)
      if random.happens(0.4) { try author.store.seal() }
      if random.happens(0.2) { try meet(authors[0], authors[1]) }
    }
    for _ in 0..<3 { try meet(authors[0], authors[1]) }
    let operations = try authors[0].store.operations(lackedBy: .init(), maximumBytes: .max)
    // What the app's triggers do is no part of a merge.
    let observers = [try device(10), try device(11, triggers: false)]
    try observers[0].merge(operations)
    for page in stride(from: 0, to: operations.count, by: 2) {
      try observers[1].merge(Array(operations[page..<min(page + 2, operations.count)]))
    }
    let state = try authors[0].store.canonicalState()
    let synced = try rows(drawn, authors[0].database, isSynced: true)
    for device in authors + observers {
      #expect(try device.store.canonicalState() == state, "seed \(seed)")
      let own = try rows(drawn, device.database, isSynced: true)
      #expect(own == synced, "seed \(seed)")
    }
    for device in [authors[1], observers[0]] {
      let diagnosis = try device.database.read { try DatabaseDiagnosis($0) }
      #expect(diagnosis.findings.map { "\($0)" } == [], "seed \(seed)")
    }
    for (mirror, content) in drawn.mirrors {
      #expect(
        try observers[0].rows(mirror) == observers[0].rows(content), "seed \(seed): \(mirror)")
    }
    // Nothing is answered for ever, and the connection is as it was.
    let before = try standing(observers[0])
    for _ in 0..<10 { try meet(observers[0], authors[0]) }
    let after = try authors[0].store.operations(lackedBy: .init(), maximumBytes: .max)
    #expect(after.count == operations.count, "seed \(seed)")
    #expect(try standing(observers[0]) == before, "seed \(seed)")
  }

  /// What each statement of a transaction came to.
  private func run(_ statements: [String], _ database: any DatabaseWriter) -> [String] {
    var results: [String] = []
    do {
      try database.write { db in
        for sql in statements {
          do {
            try db.execute(sql: sql)
            results.append("\(db.changesCount)")
          } catch let error as DatabaseError {
            results.append("\(error.extendedResultCode): \(error.message ?? "")")
            guard db.isInsideTransaction else { throw error }
          }
        }
      }
    } catch let error as DatabaseError {
      results.append("commit \(error.extendedResultCode)")
    } catch {
      results.append("\(error)")
    }
    return results
  }

  private func rows(_ drawn: DrawnSchema, _ database: any DatabaseWriter, isSynced: Bool = false)
    throws -> [String]
  {
    try database.read { db in
      try drawn.tables.flatMap { table in
        let columns =
          isSynced ? table.synced : (table.keys + table.columns).map(\.name.quotedForSQL)
        let values = columns.map { "typeof(\($0)) || quote(\($0))" }.joined(
          separator: " || '|' || ")
        return try String.fetchAll(db, sql: "SELECT \(values) FROM \(table.quoted) ORDER BY 1")
      }
    }
  }

  private func standing(_ device: Device) throws -> [String?] {
    try device.column(
      """
      SELECT schema_version FROM pragma_schema_version
      UNION ALL SELECT count(*) FROM temp.sqlite_temp_master
      """)
  }
}
