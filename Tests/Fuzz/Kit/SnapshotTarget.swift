import GRDB
import Tern

extension FuzzTarget {
  /// Snapshots that a device loads: contents of parts, each behind its length in two bytes, to which
  /// the magic, the compression and the checksum are given that a reader asks for.
  ///
  /// A refused one changes nothing (INV-06). Of a taken one a device can write on, and cut a
  /// snapshot that makes another device the same (INV-01).
  static let snapshot = FuzzTarget(
    name: "snapshot", samples: { try SnapshotArena.shared.get().samples() },
    run: { bytes in
      // As it would come from a disk.
      _ = try? SnapshotPart.content(of: bytes)
      return try SnapshotArena.shared.get().run(bytes)
    })
}

/// Two devices in memory, brought back to their beginning for every run.
private final class SnapshotArena: Sendable {
  static let shared = Result { try SnapshotArena() }

  private static let schema = SyncSchema(
    version: 3,
    tables: [
      SyncTable(
        "item", merge: ["count": .counter, "high": .max, "tags": .set, "body": .text],
        deletes: .updateWins),
      SyncTable("part"),
    ])
  private static let creation = """
    CREATE TABLE item (
      id TEXT NOT NULL PRIMARY KEY, name, count INTEGER NOT NULL DEFAULT 0, high,
      tags TEXT NOT NULL DEFAULT '[]', body TEXT NOT NULL DEFAULT '', code INTEGER UNIQUE);
    CREATE TABLE part (
      item TEXT NOT NULL REFERENCES item (id), number INTEGER NOT NULL,
      PRIMARY KEY (item, number)) WITHOUT ROWID;
    """

  private let origins: [DatabaseQueue]
  private let databases: [DatabaseQueue]
  private let devices: [Replica]
  private let before: [CanonicalRow]

  private init() throws {
    origins = [try DatabaseQueue(), try DatabaseQueue()]
    databases = [try DatabaseQueue(), try DatabaseQueue()]
    for (number, origin) in origins.enumerated() {
      try origin.write { try $0.execute(sql: Self.creation) }
      let replica = try Self.open(origin, as: UInt64(number + 1))
      if number == 0 {
        try origin.write { db in
          try db.execute(
            sql: """
              INSERT INTO item VALUES ('1', 'mine', 1, 2, '["a"]', 'text', 7), ('m', 'x', 0, 0, '[]', '', 1);
              INSERT INTO part VALUES ('m', 1)
              """)
        }
        try replica.store.seal()
      }
      try origin.backup(to: databases[number])
    }
    devices = try databases.map { try Self.open($0, as: 9) }
    before = try devices[0].store.canonicalState()
  }

  private static func open(_ database: DatabaseQueue, as number: UInt64) throws -> Replica {
    try Replica.openBlocking(
      database, schema: schema, makeID: { ReplicaID(high: 1, low: number) })
  }

  /// What other devices have.
  func samples() throws -> [[UInt8]] {
    let database = try DatabaseQueue()
    try database.write { try $0.execute(sql: Self.creation) }
    let replica = try Self.open(database, as: 3)
    return try [
      #"INSERT INTO item VALUES ('1', 'a', 3, 9, '["b","c"]', 'words', 7), ('2', 'b', 0, 1, '[]', '', 8)"#,
      "INSERT INTO part VALUES ('1', 1), ('2', 5); UPDATE item SET count = 4, body = 'wo-ds'",
      "DELETE FROM part; DELETE FROM item WHERE id = '1'",
    ].map { sql in
      try database.write { try $0.execute(sql: sql) }
      var framed: [UInt8] = []
      _ = try replica.store.cutSnapshot { part in
        let content = try SnapshotPart.content(of: part)
        framed += [UInt8(content.count >> 8), UInt8(content.count & 0xFF)] + content
      }
      return framed
    }
  }

  private static func parts(_ bytes: [UInt8]) throws -> [[UInt8]] {
    var parts: [[UInt8]] = []
    var rest = bytes[...]
    while rest.count >= 2 {
      let count = Int(rest.removeFirst()) << 8 | Int(rest.removeFirst())
      parts.append(try SnapshotPart.encoded(Array(rest.prefix(count))))
      rest = rest.dropFirst(count)
    }
    return parts
  }

  func run(_ bytes: [UInt8]) throws -> FuzzTarget.Outcome {
    for (origin, database) in zip(origins, databases) { try origin.backup(to: database) }
    let parts = try Self.parts(bytes)
    do {
      _ = try load(parts, 0)
    } catch  where error is WireError || error is SnapshotError || error is MergeError {
      try require(
        try devices[0].store.canonicalState() == before, "something of a refused snapshot stayed")
      return .refused
    }
    try databases[0].write { try $0.execute(sql: "INSERT INTO item (id) VALUES ('after')") }
    try require(!devices[0].store.seal().isEmpty, "a write makes no operation")
    var again: [[UInt8]] = []
    _ = try devices[0].store.cutSnapshot { again.append($0) }
    _ = try load(again, 1)
    let states = try devices.map { try $0.store.canonicalState() }
    try require(states[0] == states[1], "INV-01: \(Set(states[0]).symmetricDifference(states[1]))")
    return .taken
  }

  private func load(_ parts: [[UInt8]], _ device: Int) throws -> SnapshotSummary {
    try devices[device].store.loadSnapshot(from: nil) { $0 < parts.count ? parts[$0] : nil }
  }
}
