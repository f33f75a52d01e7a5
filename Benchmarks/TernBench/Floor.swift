import GRDB
import TernDatabase

/// What SQLite alone takes to capture and to seal, one step more at a time: no more than SQL of a trigger
/// and of three statements a seal. No code around it can make that less.
struct Floor {
  enum Step: String, CaseIterable {
    /// The app's statement, with no trigger.
    case plain
    /// A trigger that does nothing.
    case empty
    /// One that asks for the time, without which another program's write has none.
    case clock
    /// One that notes key, columns and time, as Tern's does.
    case note
    /// And the notes read with their rows and states, states written, notes deleted, in a transaction
    /// a page. It finds out nothing, and writes no operation.
    case sealed
  }

  enum Work: String, CaseIterable { case insert, update }

  let step: Step
  private let pages: [Subject]

  init(_ step: Step, path: String, rows: [BenchRow]) throws {
    self.step = step
    let subject = try Subject(isSynced: false, path: path, rows: rows)
    try subject.database.write { db in try db.execute(sql: Self.schema(step)) }
    let size = Subject.rowsPerTransaction
    pages = stride(from: 0, to: rows.count, by: size).map { start in
      var page = subject
      page.rows = Array(rows[start..<min(start + size, rows.count)])
      return page
    }
  }

  /// Sets up what stands there before, and gives the work that is measured.
  func prepare(_ work: Work) throws -> () throws -> Void {
    if work == .insert { return { try run(.insert) } }
    try run(.insert)
    return { try run(.update) }
  }

  private func run(_ work: Work) throws {
    for page in pages {
      try work == .insert ? page.insert() : page.update()
      if step == .sealed { try page.database.write { try Self.seal($0) } }
    }
  }

  private static func schema(_ step: Step) -> String {
    let milliseconds = "CAST((julianday() - 2440587.5) * 86400000.0 AS INTEGER)"
    let changed = ["a", "b", "c", "d"].enumerated().map { index, name in
      "((OLD.\(name) IS NOT NEW.\(name) COLLATE BINARY) << \(index))"
    }
    func note(_ mask: String) -> String {
      "INSERT INTO note (ms, m0, k0) VALUES (\(milliseconds), \(mask), NEW.id)"
    }
    let bodies: (insert: String, update: String)? =
      switch step {
      case .plain: nil
      case .empty: ("SELECT 1", "SELECT 1")
      case .clock: ("SELECT julianday()", "SELECT julianday()")
      case .note, .sealed: (note("-1"), note(changed.joined(separator: " | ")))
      }
    guard let bodies else { return "" }
    return """
      CREATE TABLE note (ms, m0, k0 NOT NULL);
      CREATE TABLE state (
        k0 NOT NULL, life INTEGER NOT NULL, time INTEGER NOT NULL, author INTEGER NOT NULL,
        covered INTEGER NOT NULL, cells BLOB, PRIMARY KEY (k0)) WITHOUT ROWID;
      CREATE TRIGGER inserted AFTER INSERT ON item BEGIN \(bodies.insert); END;
      CREATE TRIGGER updated AFTER UPDATE OF a, b, c, d ON item BEGIN \(bodies.update); END;
      """
  }

  private static func seal(_ db: Database) throws {
    let notes = try FastStatement(
      db,
      """
      SELECT note.*, item.*, state.* FROM note
      LEFT JOIN item ON item.id = note.k0 LEFT JOIN state ON state.k0 = note.k0
      """)
    try notes.each { for column in 0..<14 as Range<Int32> { _ = notes.value(column) } }
    // What changed of the row, beside when and by whom the rest was written: eight bytes.
    try FastStatement(
      db,
      """
      INSERT INTO state SELECT k0, 1, ms, 1, 0, NULL FROM note WHERE true
      ON CONFLICT DO UPDATE SET cells = x'0102030405060708'
      """
    ).run()
    try FastStatement(db, "DELETE FROM note").run()
  }
}
