import Foundation
import GRDB
import Tern

/// What a merge makes of many rows that cannot be in their tables, and what they cost afterwards.
struct HeldBench {
  enum Case: String, CaseIterable {
    /// Children of a parent that is deleted elsewhere, and comes back.
    case children
    /// The same of children that are shown without it.
    case veils
    /// Rows that collide in a UNIQUE column, two by two.
    case collisions
    /// The same of a table that folds them.
    case folds
    /// Rows of which each refers to the next.
    case chain
    /// Keys that one statement changes.
    case keys
  }

  private let a: Peer
  private let b: Peer
  private let count: Int

  init(count: Int) throws {
    self.count = count
    (a, b) = (try Peer(1), try Peer(2))
  }

  /// Prints, for each step, its name and the seconds of processor time that it took.
  func run(_ bench: Case) throws {
    switch bench {
    case .children: try children()
    case .veils: try veils()
    case .collisions: try collisions()
    case .folds: try folds()
    case .chain: try chain()
    case .keys: try keys()
    }
  }

  private func children() throws {
    try a.execute("INSERT INTO parent (id) VALUES ('p')")
    try meet()
    try b.execute(rows("INSERT INTO child (id, parent) SELECT value, 'p'"))
    try a.execute("DELETE FROM parent")
    let without = try Peer(3).writes()
    try measure("three-syncs") { for _ in 0..<3 { try meet() } }
    try expect(0, "child")
    report("write", try b.writes() / without)
    try b.takeUnknown(count)
    try b.reopen()
    try measure("open") { try b.reopen() }
    try a.execute("INSERT INTO parent (id) VALUES ('p')")
    try measure("parent-back") { try meet() }
    try expect(count, "child")
  }

  private func veils() throws {
    try a.execute("INSERT INTO parent (id) VALUES ('p')")
    try meet()
    try b.execute(rows("INSERT INTO loose (id, parent) SELECT value, 'p'"))
    try b.replica.store.seal()
    try a.execute("DELETE FROM parent")
    let without = try Peer(3).writes()
    // What comes is veiled here, and what was there is there.
    try measure("merge") { try a.pull(from: b) }
    try measure("merge-parent") { try b.pull(from: a) }
    try expect(count, "loose WHERE parent IS NULL")
    report("write", try b.writes() / without)
    try a.execute("INSERT INTO parent (id) VALUES ('p')")
    // Each of the two lifts all veils.
    try measure("parent-sealed") { try a.replica.store.seal() }
    try measure("parent-back") { try b.pull(from: a) }
    try meet()
    try expect(count, "loose WHERE parent = 'p'")
  }

  private func collisions() throws {
    try a.execute(rows("INSERT INTO tag (id, name) SELECT 'a' || value, 'name ' || value"))
    try b.execute(rows("INSERT INTO tag (id, name) SELECT 'b' || value, 'name ' || value"))
    let without = try Peer(3).writes()
    try measure("sync") { try meet() }
    try expect(count, "tag")
    report("write", try b.writes() / without)
  }

  private func folds() throws {
    try a.execute(rows("INSERT INTO topic (id, name) SELECT 'a' || value, 'name ' || value"))
    try b.execute(rows("INSERT INTO topic (id, name) SELECT 'b' || value, 'name ' || value"))
    let without = try Peer(3).writes(to: "topic")
    // Here what came folds into what was there, and there it is the other way round.
    try measure("merge") { try a.pull(from: b) }
    try measure("merge-earlier") { try b.pull(from: a) }
    try expect(2 * count, "topic")
    report("write", try b.writes(to: "topic") / without)
    try a.execute("DELETE FROM topic WHERE sameAs IS NULL")
    try measure("winners-gone") { try meet() }
    for rows in ["topic WHERE id LIKE 'b%'", "topic WHERE id LIKE 'b%' AND sameAs IS NULL"] {
      try expect(count, rows)
    }
  }

  private func chain() throws {
    try a.execute("INSERT INTO link VALUES ('root', NULL)")
    try meet()
    let links = """
      SELECT 1000000 + value, CASE value WHEN 1 THEN 'root' ELSE 1000000 + value - 1 END
      """
    try b.execute(rows("INSERT INTO link (id, next) \(links)"))
    try b.replica.store.seal()
    let c = try Peer(3)
    try measure("merge") { try c.pull(from: b) }
    try a.execute("DELETE FROM link")
    try measure("root-gone") { for _ in 0..<2 { try meet() } }
    try expect(0, "link")
    try a.execute("INSERT INTO link VALUES ('root', NULL)")
    try measure("root-back") { try meet() }
    try expect(count + 1, "link")
  }

  private func keys() throws {
    try a.execute(rows("INSERT INTO parent (id) SELECT value"))
    try a.execute("INSERT INTO child SELECT id, id FROM parent")
    try measure("change-parent") {
      try a.execute("UPDATE parent SET id = 'new ' || id")
      try a.replica.store.seal()
    }
    try measure("merge-parent") { try meet() }
    try expect(count, "parent")
    try a.execute("DELETE FROM child")
    for (table, columns, values) in [
      ("child", "id", "value"), ("tag", "id, name", "value, value"), ("kept", "id", "value"),
    ] {
      try a.execute(rows("INSERT INTO \(table) (\(columns)) SELECT \(values)"))
      try meet()
      try measure("change-\(table)") {
        try a.execute("UPDATE \(table) SET id = 'new ' || id")
        try a.replica.store.seal()
      }
      try measure("merge-\(table)") { try meet() }
      try expect(count, table)
    }
  }

  private func rows(_ insert: String) -> String {
    """
    PRAGMA defer_foreign_keys = ON;
    WITH RECURSIVE numbers (value) AS
      (SELECT 1 UNION ALL SELECT value + 1 FROM numbers WHERE value < \(count))
    \(insert) FROM numbers
    """
  }

  private func meet() throws {
    try a.pull(from: b)
    try b.pull(from: a)
  }

  private func measure(_ step: String, _ body: () throws -> Void) rethrows {
    let begin = processorTime
    try body()
    report(step, processorTime - begin)
  }

  private func report(_ step: String, _ figure: Double) {
    print(step, String(format: "%.2f", figure))
  }

  /// Both show so many rows.
  private func expect(_ rows: Int, _ table: String) throws {
    for peer in [a, b] {
      let found = try peer.database.read {
        try Int.fetchOne($0, sql: "SELECT count(*) FROM \(table)")
      }
      precondition(found == rows, "\(table) shows \(found ?? -1) rows and not \(rows)")
    }
  }

  private struct Peer {
    let database: DatabaseQueue
    let replica: Replica
    private let id: UInt64

    init(_ id: UInt64) throws {
      database = try DatabaseQueue()
      try database.write { db in
        try db.execute(
          sql: """
            CREATE TABLE parent (id TEXT NOT NULL PRIMARY KEY, title TEXT);
            CREATE TABLE child (id TEXT NOT NULL PRIMARY KEY,
              parent TEXT REFERENCES parent ON DELETE CASCADE ON UPDATE CASCADE);
            CREATE INDEX child_parent ON child (parent);
            CREATE TABLE loose (
              id TEXT NOT NULL PRIMARY KEY, parent TEXT REFERENCES parent ON DELETE SET NULL);
            CREATE INDEX loose_parent ON loose (parent);
            CREATE TABLE tag (id TEXT NOT NULL PRIMARY KEY, name TEXT NOT NULL UNIQUE);
            CREATE TABLE topic (id TEXT NOT NULL PRIMARY KEY, name TEXT NOT NULL, sameAs TEXT);
            CREATE UNIQUE INDEX topic_name ON topic (name) WHERE sameAs IS NULL;
            CREATE TABLE link (id TEXT NOT NULL PRIMARY KEY, next TEXT REFERENCES link);
            CREATE INDEX link_next ON link (next);
            CREATE TABLE kept (id TEXT NOT NULL PRIMARY KEY);
            """)
      }
      self.id = id
      replica = try Self.open(database, id)
    }

    private static func open(_ database: DatabaseQueue, _ id: UInt64) throws -> Replica {
      try Replica.openBlocking(
        database,
        schema: SyncSchema(
          version: 1,
          tables: ["parent", "child", "loose", "tag", "link"].map { SyncTable($0) }
            + [
              SyncTable("kept", deletes: .updateWins),
              SyncTable("topic", collisions: .fold(into: "sameAs")),
            ]),
        makeID: { ReplicaID(high: 0, low: id) })
    }

    func reopen() throws {
      _ = try Self.open(database, id)
    }

    /// Operations of tables that the schema does not have.
    func takeUnknown(_ count: Int) throws {
      let operations = (1...count).map { number in
        var body = ByteWriter()
        body.append(block: BodyBlock(table: "unknown\(number)", keyColumns: ["id"], columns: []))
        body.append(row: .insert, life: 1)
        body.append("k" as SQLiteValue)
        body.appendEndOfBlock()
        return SyncOperation(
          .init(
            replica: ReplicaID(high: 7, low: 7), sequence: UInt64(number),
            time: HybridTime(milliseconds: 1_700_000_000_000 + Int64(number)), schemaVersion: 1),
          body: body.bytes)
      }
      _ = try replica.store.merge(
        PulledPage(
          operations: operations, cursor: RemoteCursor(rawValue: "1"), hasMore: false,
          now: nil),
        from: RemotePlace(remoteID: "stranger", epoch: "e", cursor: nil))
    }

    func execute(_ sql: String) throws {
      try database.write { try $0.execute(sql: sql) }
    }

    func pull(from other: Peer) throws {
      try other.replica.store.seal()
      while true {
        let operations = try other.replica.store.operations(
          lackedBy: replica.store.versionVector(), maximumBytes: 4 << 20)
        _ = try replica.store.merge(
          PulledPage(
            operations: operations, cursor: RemoteCursor(rawValue: "1"), hasMore: false,
            now: nil),
          from: RemotePlace(remoteID: "peer", epoch: "e", cursor: nil))
        if operations.isEmpty { return }
      }
    }

    /// The least seconds of five that 200 sealed writes of one row took, in a table that has others.
    func writes(to table: String = "tag") throws -> Double {
      var least = Double.infinity
      for round in 0..<5 {
        let begin = processorTime
        for row in 0..<200 {
          try execute(
            "INSERT INTO \(table) (id, name) VALUES ('w\(round)-\(row)', 'w\(round)-\(row)')")
          try replica.store.seal()
        }
        least = min(least, processorTime - begin)
      }
      return least
    }
  }
}
