import EditingTraces
import Foundation
import GRDB
import Tern

/// A paper's 259,778 edits through ``TextDraft``, as an editor makes them, and what is stored of them.
struct TextBench {
  private let patches: [EditingTrace.Patch]
  private let end: String
  private let key: [SQLiteValue] = ["1"]

  init() throws {
    let trace = try EditingTrace("automerge-paper")
    patches = trace.txns.flatMap(\.patches)
    end = trace.endContent
  }

  /// - Parameters:
  ///   - size: edits of a transaction.
  ///   - isSealing: after each transaction, or once.
  func run(edits size: Int, isSealing: Bool) throws {
    let database = try DatabaseQueue()
    try database.write { db in
      try db.execute(
        sql: "CREATE TABLE note (id TEXT NOT NULL PRIMARY KEY, body TEXT NOT NULL DEFAULT '')")
    }
    let replica = try Replica.openBlocking(
      database, schema: SyncSchema(version: 1, tables: [SyncTable("note", merge: ["body": .text])]),
      makeID: { ReplicaID(high: 0, low: 1) })
    try database.write { try $0.execute(sql: "INSERT INTO note (id) VALUES ('1')") }
    try replica.store.seal()
    let begin = processorTime
    var draft = try database.read {
      try replica.draft("note", key: key, column: "body", in: $0)
    }!
    for start in stride(from: 0, to: patches.count, by: size) {
      for patch in patches[start..<min(start + size, patches.count)] {
        draft.replace(
          patch.position..<patch.position + patch.removed, with: patch.inserted)
      }
      try database.write { _ = try replica.save(&draft, in: $0) }
      if isSealing { try replica.store.seal() }
    }
    try replica.store.seal()
    let time = processorTime - begin
    let stored = try database.read { db in
      try Int.fetchOne(
        db,
        sql: "SELECT length(CAST(body AS BLOB)) + length(cells) FROM note, grdb_tern_main_row_1")
    }!
    let text = try database.read { try String.fetchOne($0, sql: "SELECT body FROM note") }
    precondition(text == end, "the text is not the paper's")
    let perCharacter = Double(stored) / Double(end.unicodeScalars.count)
    print(
      size, isSealing ? "each" : "once", String(format: "%.3f %.2f", time, perCharacter))
  }
}
