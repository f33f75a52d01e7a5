import Foundation
import GRDB
import SeededRandom
import Tern

/// What is large by itself: one text, and the index that an app keeps of many.
enum LargeBench {
  /// Prints the seconds of processor time that edits of one text take, each sealed.
  static func text(bytes: Int, edits: Int) throws {
    let (database, replica) = try open(
      "CREATE TABLE note (id TEXT NOT NULL PRIMARY KEY, body TEXT NOT NULL DEFAULT '')",
      SyncTable("note", merge: ["body": .text]))
    var generator = SeededGenerator(seed: 1)
    var text = ""
    while text.utf8.count < bytes { text += words(8, &generator) + "\n" }
    try database.write {
      try $0.execute(sql: "INSERT INTO note VALUES ('1', ?)", arguments: [text])
    }
    try replica.store.seal()
    let begin = processorTime
    for edit in 0..<edits {
      let place = Int.random(in: 1..<bytes, using: &generator)
      try database.write {
        try $0.execute(
          sql: """
            UPDATE note SET body = substr(body, 1, ?1) || 'edit ' || substr(body, ?1 + 1 + ?2)
            """, arguments: [place, edit])
      }
      try replica.store.seal()
    }
    print(String(format: "%.3f", processorTime - begin))
  }

  /// Prints the seconds that inserting rows and merging them took, beside a mirror of the table in
  /// a full-text index or without.
  static func mirror(rows: Int, isMirrored: Bool) throws {
    let creation = """
      CREATE TABLE note (id TEXT NOT NULL PRIMARY KEY, body TEXT NOT NULL DEFAULT '');
      """
    let mirror = """
      CREATE VIRTUAL TABLE note_index USING fts5(id UNINDEXED, body);
      CREATE TRIGGER note_added AFTER INSERT ON note BEGIN
        INSERT INTO note_index VALUES (new.id, new.body);
      END;
      CREATE TRIGGER note_changed AFTER UPDATE ON note BEGIN
        UPDATE note_index SET body = new.body WHERE rowid = (
          SELECT rowid FROM note_index WHERE id = new.id);
      END;
      CREATE TRIGGER note_removed AFTER DELETE ON note BEGIN
        DELETE FROM note_index WHERE id = old.id;
      END;
      """
    let sql = creation + (isMirrored ? mirror : "")
    let plain = try DatabaseQueue()
    try plain.write { try $0.execute(sql: sql) }
    let (source, author) = try open(creation, SyncTable("note"))
    let (target, reader) = try open(sql, SyncTable("note"), id: 2)
    var generator = SeededGenerator(seed: 2)
    let texts = (0..<rows).map { _ in words(12, &generator) }
    func insert(_ database: DatabaseQueue) throws -> Double {
      let begin = processorTime
      try database.write { db in
        let statement = try db.makeStatement(sql: "INSERT INTO note VALUES (?, ?)")
        for (row, text) in texts.enumerated() {
          try statement.execute(arguments: ["\(row)", text])
        }
      }
      return processorTime - begin
    }
    let inserting = try insert(plain)
    _ = try insert(source)
    try author.store.seal()
    let operations = try author.store.operations(
      lackedBy: VersionVector(), maximumBytes: 64 << 20)
    let begin = processorTime
    _ = try reader.store.merge(
      PulledPage(
        operations: operations, cursor: RemoteCursor(rawValue: "1"), hasMore: false,
        now: nil), from: RemotePlace(remoteID: "peer", epoch: "e", cursor: nil))
    let merging = processorTime - begin
    for database in [plain, target] where isMirrored {
      let found = try database.read {
        try Int.fetchOne($0, sql: "SELECT count(*) FROM note_index") ?? 0
      }
      precondition(found == rows, "the mirror has \(found) rows")
    }
    print(String(format: "%.3f %.3f", inserting, merging))
  }

  private static func open(_ creation: String, _ table: SyncTable, id: UInt64 = 1) throws -> (
    DatabaseQueue, Replica
  ) {
    let database = try DatabaseQueue()
    try database.write { try $0.execute(sql: creation) }
    let replica = try Replica.openBlocking(
      database, schema: SyncSchema(version: 1, tables: [table]),
      makeID: { ReplicaID(high: 0, low: id) })
    return (database, replica)
  }

  private static func words(_ count: Int, _ generator: inout SeededGenerator) -> String {
    (0..<count).map { _ in
      let word = UInt32.random(in: 0..<5_000, using: &generator)
      return String(word &* 2_654_435_761 % 1_000_003, radix: 36)
    }.joined(separator: " ")
  }
}
