import GRDB
import Tern

extension FuzzTarget {
  /// Operations that devices merge: an encoded batch, or bodies to which authors, sequence numbers
  /// and times are given that a device accepts.
  ///
  /// Two devices get them in another order and grouping. Both must end with the same state and the
  /// same tables (INV-01), keep what they had, and write on.
  static let apply = FuzzTarget(
    name: "apply", samples: { try Arena.samples() + [WireSamples.batches()[2]] },
    run: { bytes in
      try Arena.shared.run(bytes)
    })
}

/// Two copies of one device in memory, brought back to their beginning for every run.
final class Arena: Sendable {
  static let shared = Result { try Arena() }

  private static let schema = SyncSchema(
    version: 3,
    tables: [
      SyncTable(
        "item", merge: ["count": .counter, "high": .max, "low": .min, "tags": .set, "body": .text]),
      SyncTable("part", deletes: .updateWins),
    ])
  private static let creation = """
    CREATE TABLE item (
      id TEXT NOT NULL PRIMARY KEY, name, note, count INTEGER NOT NULL DEFAULT 0, high, low,
      tags TEXT NOT NULL DEFAULT '[]', body TEXT NOT NULL DEFAULT '');
    CREATE TABLE part (
      item TEXT NOT NULL REFERENCES item (id), number INTEGER NOT NULL, weight REAL,
      flag INTEGER CHECK (flag IN (0, 1)), PRIMARY KEY (item, number)) WITHOUT ROWID;
    """
  /// No input names it by chance; one that does may change its row.
  private static let honestKey = "3f7a1c52-honest"
  private static let begin = HybridTime(milliseconds: 1_700_000_000_000)

  private let origin: DatabaseQueue
  private let devices: [Replica]
  private let databases: [DatabaseQueue]
  private let honest: [CanonicalRow]

  private init() throws {
    origin = try DatabaseQueue()
    try origin.write { try $0.execute(sql: Self.creation) }
    let first = try Self.open(origin)
    _ = try first.store.correctClock(nowMilliseconds: Self.begin.milliseconds)
    try origin.write { db in
      try db.execute(
        sql: """
          INSERT INTO item VALUES (?1, 'kept', 'as it is', 3, 4, -0.0, '["a"]', 'kept'),
            ('1', 'Dune', NULL, 1, 2, 3, '["b","c"]', 'begun')
          """, arguments: [Self.honestKey])
      try db.execute(
        sql: "INSERT INTO part VALUES (?, 1, 0.5, 1)", arguments: [Self.honestKey])
    }
    try first.store.seal()
    honest = try first.store.canonicalState()
    databases = [try DatabaseQueue(), try DatabaseQueue()]
    for database in databases { try origin.backup(to: database) }
    devices = try databases.map { try Self.open($0) }
  }

  private static func open(_ database: DatabaseQueue, as number: UInt64 = 1) throws -> Replica {
    try Replica.openBlocking(
      database, schema: schema, makeID: { ReplicaID(high: 1, low: number) })
  }

  /// The bodies that another device wrote.
  static func honestBodies() throws -> [[UInt8]] {
    let database = try DatabaseQueue()
    try database.write { try $0.execute(sql: creation) }
    let replica = try open(database, as: 2)
    for sql in [
      #"INSERT INTO item VALUES ('1', 'Emma', 'n', 5, 7, 1, '["b","d"]', 'begun'), ('2', 'x', 1.5, 0, 1, 2, '[]', '')"#,
      "INSERT INTO part VALUES ('1', 1, 2.5, 1), ('9', 2, NULL, 0)",
      #"UPDATE item SET tags = '["d",7.5]', count = count + 3 WHERE id = '1'"#,
      "UPDATE item SET body = 'be' || body || 'é' WHERE id = '1'",
      "UPDATE item SET body = 'begé' WHERE id = '1'", "UPDATE item SET body = 'x' || body",
      "UPDATE item SET name = NULL, high = 9", "DELETE FROM item WHERE id = '1'",
      "INSERT INTO item (id, name) VALUES ('1', 'again')", "DELETE FROM part",
    ] {
      try database.writeWithoutTransaction { db in
        try db.execute(sql: "PRAGMA foreign_keys = OFF")
        try db.execute(sql: sql)
      }
      try replica.store.seal()
    }
    return try replica.store.operations(lackedBy: VersionVector(), maximumBytes: .max)
      .map { Array($0.bytes[$0.bodyOffset...]) }
  }

  func run(_ bytes: [UInt8]) throws -> FuzzTarget.Outcome {
    for database in databases { try origin.backup(to: database) }
    let operations = try Self.operations(bytes)
    guard !operations.isEmpty else { return .refused }
    let (a, b) = (devices[0].store, devices[1].store)
    do {
      try Self.merge(operations, into: a)
    } catch is MergeError {
      try require(try a.canonicalState() == honest, "something of a refused page stayed")
      return .refused
    }
    let authors = Dictionary(grouping: operations, by: \.envelope.replica)
    for author in authors.keys.sorted(by: >) {
      for operation in authors[author]! { try Self.merge([operation], into: b) }
    }
    try checkEqual(a, b)
    if !bytes.contains(Array(Self.honestKey.utf8)) {
      let kept = try a.canonicalState().filter { $0.key.first == .string(Self.honestKey) }
      let before = honest.filter { $0.key.first == .string(Self.honestKey) }
      try require(kept == before, "a row that nobody named changed")
    }
    try checkWriting()
    return .taken
  }

  private func checkEqual(_ a: SQLiteReplicaStore, _ b: SQLiteReplicaStore) throws {
    let (left, right) = (try a.canonicalState(), try b.canonicalState())
    try require(left == right, "INV-01: \(Set(left).symmetricDifference(right))")
    for table in ["item", "part"] {
      let rows = try databases.map { database in
        try database.read { db in
          try Row.fetchAll(db, sql: "SELECT * FROM \(table) ORDER BY 1, 2")
            .map { row in Array(row.databaseValues) }
        }
      }
      try require(rows[0] == rows[1], "INV-01: table \(table) differs")
    }
    let counts = try [a, b].map { try $0.counts() }
    try require(counts[0].pending.counts == counts[1].pending.counts, "put aside here, not there")
    try require(counts[0].quarantined == counts[1].quarantined, "quarantined here, not there")
  }

  /// What is written now is an operation that others can read.
  private func checkWriting() throws {
    try databases[0].write { db in
      try db.execute(
        sql: """
          PRAGMA defer_foreign_keys = ON;
          DELETE FROM part; DELETE FROM item; INSERT INTO item (id) VALUES ('after');
          """)
    }
    let sealed = try devices[0].store.seal()
    try require(!sealed.isEmpty, "a write makes no operation")
    let all = try devices[0].store.operations(lackedBy: VersionVector(), maximumBytes: .max)
    for operation in all where operation.envelope.replica == ReplicaID(high: 1, low: 1) {
      try require(operation.bodyError() == nil, "an own operation that nobody can read")
    }
  }

  private static func merge(_ operations: [SyncOperation], into store: SQLiteReplicaStore) throws {
    let page = PulledPage(
      operations: operations, cursor: RemoteCursor(rawValue: "1"), hasMore: false, now: begin.date)
    _ = try store.merge(page, from: RemotePlace(remoteID: "fuzz", epoch: "e", cursor: nil))
  }
}

// MARK: - Input

extension Arena {
  /// For each operation a byte for its author, time and whether its group goes on, then its body
  /// behind its length.
  private static func operations(_ bytes: [UInt8]) throws -> [SyncOperation] {
    if let batch = try? OperationBatch(encoded: bytes) { return batch.operations }
    var operations: [SyncOperation] = []
    var last: [UInt64: SyncOperation.Envelope] = [:]
    try bytes.withUnsafeBytes { buffer in
      var reader = ByteReader(buffer)
      while operations.count < 16, let head = try? reader.byte("head"),
        let length = try? reader.count("length")
      {
        let author = UInt64(head & 3)
        let before = last[author]
        // On both sides of the honest writes.
        let start = before?.time ?? HybridTime(milliseconds: begin.milliseconds - 20)
        let later = HybridTime(rawValue: start.rawValue + UInt64(head >> 3) << 13 + 1)
        let envelope = SyncOperation.Envelope(
          replica: ReplicaID(high: 0xF0, low: author), sequence: (before?.sequence ?? 0) + 1,
          time: before?.continues ?? false ? start : later, schemaVersion: 3,
          continues: head & 4 != 0)
        last[author] = envelope
        operations.append(SyncOperation(envelope, body: Array(try reader.bytes(length, "body"))))
      }
    }
    return operations
  }

  static func samples() throws -> [[UInt8]] {
    let bodies = WireSamples.bodies().filter { !$0.isEmpty }
    func input(_ pairs: [(head: UInt8, body: [UInt8])]) -> [UInt8] {
      var writer = ByteWriter()
      for pair in pairs {
        writer.append(byte: pair.head)
        writer.append(varint: UInt64(pair.body.count))
        writer.append(raw: pair.body)
      }
      return writer.bytes
    }
    let all = bodies.enumerated().map { (UInt8($0 * 8 + $0 % 4), $1) }
    return [
      input(Array(all)), input(all.reversed()), input([(0x84, bodies[0]), (0, bodies[1])]),
      input(try honestBodies().enumerated().map { (UInt8($0 * 16 + 2), $1) }),
      input(try honestBodies().enumerated().map { (UInt8($0 * 24 + $0 % 3), $1) }),
      input([(1, bodies[3]), (0xFA, bodies[4]), (9, Array(bodies[0].dropLast(2)))]),
    ]
  }
}

extension Result where Success == Arena, Failure == any Error {
  fileprivate func run(_ bytes: [UInt8]) throws -> FuzzTarget.Outcome { try get().run(bytes) }
}
