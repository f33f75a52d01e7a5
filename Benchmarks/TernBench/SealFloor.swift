import GRDB
import Tern
import TernCore
import TernDatabase

/// What SQLite alone takes to seal one row: the statements of a real seal, with all that was bound,
/// through its C interface in one transaction.
struct SealFloor {
  enum Step: String {
    /// The statements alone.
    case sealed
    case tern
  }

  let path: String
  let rows: [BenchRow]

  /// Counts the seals alone, not what they seal.
  func run(_ step: Step) throws {
    switch step {
    case .tern:
      let subject = try Subject(isSynced: true, path: path, rows: rows)
      for row in rows {
        try subject.insertOne(row)
        measure { try subject.seal() }
      }
    case .sealed: try replay()
    }
  }

  private func replay() throws {
    let recording = StatementRecording(hasPragmas: true)
    let recorded = try Subject(
      isSynced: true, path: path + "-recorded", rows: rows, configuration: recording.configuration)
    var seals: [[StatementRecording.Part]] = []
    for row in rows {
      try recorded.insertOne(row)
      seals.append(try recording.record { try recorded.seal() })
    }
    try Subject(isSynced: true, path: path, rows: []).database.close()
    let texts = recording.statements
    let replay = try StatementReplay(path, .powerLoss, texts + [Subject.insertSQL])
    for (row, parts) in zip(rows, seals) {
      replay.run(texts.count, [row.id, row.a, row.b, row.c, row.d].map { $0.value! })
      measure {
        replay.begin()
        for part in parts {
          switch part {
          case .statement(let index, let values): replay.run(index, values)
          case .end: replay.commit()
          }
        }
      }
    }
    let contents = try [path, recorded.path!].map(Self.contents)
    precondition(contents[0] == contents[1], "the same statements left another replica")
  }

  /// Of all tables that Tern keeps.
  private static func contents(_ path: String) throws -> [[Row]] {
    try DatabaseQueue(path: path).read { db in
      let tables = try String.fetchAll(
        db,
        sql: """
          SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE 'grdb_tern_%' ORDER BY 1
          """)
      return try tables.map { try Row.fetchAll(db, sql: "SELECT * FROM \($0) ORDER BY 1") }
    }
  }
}
