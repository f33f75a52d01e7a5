import Foundation
import GRDB
import TernJobs
import TestDevice
import Testing

@testable import Tern

/// What the database under `Fixtures/v1` was made of: a replica with something in each of Tern's
/// tables, and a queue of jobs. It is never made again.
enum StoredSpecimen {
  static func schema(ofFormat format: Int) -> SyncSchema {
    SyncSchema(version: 2, tables: tables + (format < 8 ? [] : tablesSince8))
  }

  /// With rows that show something else than they hold.
  private static let tablesSince8 = [
    SyncTable("mark", collisions: .fold(into: "sameAs")), SyncTable("stay"),
  ]

  private static let tables = [
    SyncTable("shelf", deletes: .updateWins),
    SyncTable(
      "book",
      merge: [
        "scans": .counter, "best": .max, "least": .min, "tags": .set, "place": .order,
        "body": .text,
      ], local: ["photo"]),
    SyncTable("tag"), SyncTable("loan", deletes: .lastWriter),
  ]

  static let creation = """
    CREATE TABLE shelf (id TEXT NOT NULL PRIMARY KEY, name TEXT);
    CREATE TABLE book (
      id TEXT NOT NULL PRIMARY KEY, title TEXT CHECK (title <> 'forbidden'),
      scans INTEGER NOT NULL DEFAULT 0, best REAL, least, tags TEXT NOT NULL DEFAULT '[]',
      place TEXT, body TEXT NOT NULL DEFAULT '', photo BLOB, shelf TEXT REFERENCES shelf);
    CREATE TABLE tag (id TEXT NOT NULL PRIMARY KEY, name TEXT UNIQUE);
    CREATE TABLE loan (
      book TEXT NOT NULL, copy INTEGER NOT NULL, reader, PRIMARY KEY (book, copy)) WITHOUT ROWID;
    """

  private static let creationSince8 = """
    CREATE TABLE mark (id TEXT NOT NULL PRIMARY KEY, name TEXT, sameAs TEXT);
    CREATE UNIQUE INDEX mark_name ON mark (name) WHERE sameAs IS NULL;
    CREATE TABLE stay (
      id TEXT NOT NULL PRIMARY KEY, tag TEXT REFERENCES tag ON DELETE SET NULL);
    CREATE TABLE own (id INTEGER PRIMARY KEY, tag TEXT REFERENCES tag ON DELETE CASCADE);
    """

  struct Scan: Job {
    static let kind = "scan"
    static let service: String? = "recogniser"
    var shelf: String
  }

  static let own = ReplicaID(high: 0, low: 1)
  static let gone = ReplicaID(high: 0, low: 5)

  static func open(
    _ database: any DatabaseWriter, id: UInt64 = 1, format: Int = StoreTables.format
  ) throws -> Device {
    let schema = schema(ofFormat: format)
    return try Device(schema, id: id, database: database, logRetention: .seconds(-60)) {
      if try $0.tableExists("shelf") { return }
      try $0.execute(sql: creation + (format < 8 ? "" : creationSince8))
    }
  }

  /// A peer whose schema is newer, and whose table takes more.
  private static func newer() throws -> Device {
    try Device(
      SyncSchema(
        version: 3,
        tables: [
          SyncTable("shelf", deletes: .updateWins), SyncTable("book", merge: ["scans": .counter]),
          SyncTable("map"),
        ]), id: 3
    ) {
      try $0.execute(
        sql: """
          CREATE TABLE shelf (id TEXT NOT NULL PRIMARY KEY, name TEXT, colour TEXT);
          CREATE TABLE book (
            id TEXT NOT NULL PRIMARY KEY, title TEXT, scans INTEGER NOT NULL DEFAULT 0,
            shelf TEXT);
          CREATE TABLE map (id TEXT NOT NULL PRIMARY KEY)
          """)
    }
  }

  /// - Parameter folder: is there and empty.
  static func make(in folder: String) async throws {
    let path = folder + "/replica.sqlite"
    var configuration = Configuration()
    // Small pages: there are many tables, and little in each.
    configuration.prepareDatabase { try $0.execute(sql: "PRAGMA page_size = 512") }
    let database = try DatabaseQueue(path: path, configuration: configuration)
    let device = try open(database)
    let peer = try open(DatabaseQueue(), id: 2)
    try fill(device, peer)
    try conflict(device, peer)
    try wait(device, peer)
    try hide(device, peer)
    try forget(device)
    for (index, part) in try Parts(of: device).parts.enumerated() {
      try Data(part).write(to: URL(filePath: "\(folder)/snapshot-\(index).part"))
    }
    try edit(device)
    try noteOthers(device)
    try await enqueue(database, folder)
    try database.close()
    try FileManager.default.removeItem(atPath: folder + "/photo")
  }

  /// What a remote said of authors, and what a revert took back of one, since format 6.
  private static func noteOthers(_ device: Device) throws {
    try device.store.note([gone: RemoteAuthor(member: "ann", bannedAfter: 9)], at: "peer")
    let mark = RevertMark(
      id: LogID(author: 1, sequence: 1), row: RowID(table: 1, key: [0x0D, 0x74]), columns: [])
    try device.store.access.write { try $0.reverted.save([mark], by: 2) }
  }

  /// Rows of both with every kind of column.
  private static func fill(_ device: Device, _ peer: Device) throws {
    try device.execute(
      """
      INSERT INTO shelf VALUES ('s', 'hall'), ('t', 'attic'), ('u', NULL);
      INSERT INTO book VALUES
        ('1', 'Dune', 2, 0.5, -1, '["a","b"]', 'V.k3XbQ0', 'Arrakis', x'00FF', 's'),
        ('2', 'Emma', 1, NULL, 'z', '[]', NULL, '', NULL, NULL);
      INSERT INTO tag VALUES ('x', 'read'), ('gone', NULL);
      INSERT INTO loan VALUES ('1', 1, 'Ada'), ('1', 2, x'01')
      """)
    try meet(device, peer)
    try peer.execute(
      """
      UPDATE book SET scans = scans + 3, best = 9.25, least = -7, tags = '["b",4]' WHERE id = '1';
      DELETE FROM tag WHERE id = 'gone'; DELETE FROM shelf WHERE id = 'u';
      DELETE FROM loan WHERE copy = 2
      """)
    _ = try device.database.write {
      try device.replica.move("book", key: ["2"], to: .after(["1"]), in: $0)
    }
    try meet(device, peer)
  }

  /// What met without knowing of each other: the inbox has what lost.
  private static func conflict(_ device: Device, _ peer: Device) throws {
    try device.execute(
      """
      UPDATE book SET title = 'Dune I', body = 'Arrakis.' WHERE id = '1';
      DELETE FROM shelf WHERE id = 't'
      """)
    try device.store.seal()
    try peer.execute(
      """
      UPDATE book SET title = 'Dune II', body = 'On Arrakis' WHERE id = '1';
      UPDATE shelf SET name = 'roof' WHERE id = 't'
      """)
    try meet(device, peer)
  }

  /// Rows quarantined, operations that wait, and one that nobody has yet.
  private static func wait(_ device: Device, _ peer: Device) throws {
    try device.execute(
      """
      INSERT INTO tag VALUES ('early', 'same');
      DELETE FROM book WHERE id = '1'; DELETE FROM shelf WHERE id = 's'
      """)
    try device.store.seal()
    try peer.execute(
      "INSERT INTO tag VALUES ('late', 'same'); INSERT INTO book (id, shelf) VALUES ('held', 's')")
    try meet(device, peer)
    let newer = try newer()
    try newer.execute(
      """
      INSERT INTO shelf VALUES ('w', 'west', 'red'); INSERT INTO map VALUES ('m');
      INSERT INTO book VALUES ('no', 'forbidden', 1, NULL)
      """)
    try device.pull(from: newer)
    try newer.execute("UPDATE shelf SET name = 'far'")
    try newer.store.seal()
    let (bad, _) = try newer.operationsWithBadEnd()
    try device.merge(bad)
    // The beginning of a group whose author is gone.
    try device.merge([
      SyncOperation(
        .init(
          replica: gone, sequence: 1, time: HybridTime(milliseconds: 1_700_000_000_000),
          continues: true), body: [])
    ])
    try device.execute("INSERT INTO loan VALUES ('9', 1, NULL)")
    try device.store.seal()
  }

  /// Rows that are folded and veiled, and one that went while a pull goes on, to which rows of a
  /// table that does not sync may refer: since format 8.
  private static func hide(_ device: Device, _ peer: Device) throws {
    try device.execute("INSERT INTO mark VALUES ('1', 'same', NULL)")
    try device.execute("INSERT INTO tag VALUES ('t', 'two'), ('u', 'three')")
    try meet(device, peer)
    try device.execute("INSERT INTO mark VALUES ('2', 'more', NULL)")
    try device.execute("INSERT INTO stay VALUES ('s', 't')")
    try peer.execute("INSERT INTO mark VALUES ('3', 'more', NULL); DELETE FROM tag WHERE id = 't'")
    try meet(device, peer)
    try peer.execute("DELETE FROM tag WHERE id = 'u'")
    try peer.store.seal()
    let operations = try peer.store.operations(
      lackedBy: device.store.versionVector(), maximumBytes: .max)
    let page = PulledPage(
      operations: operations, cursor: RemoteCursor(rawValue: "1"), hasMore: true, now: nil)
    _ = try device.store.merge(
      page, from: RemotePlace(remoteID: "peer", epoch: "e", cursor: nil), until: { false })
  }

  /// A write that is in no operation yet.
  private static func edit(_ device: Device) throws {
    try device.execute("UPDATE stay SET id = 'moved'")
    try device.database.write { db in
      var draft = try #require(
        try device.replica.draft("book", key: ["2"], column: "body", in: db))
      draft.insert("Emma Woodhouse", at: 0)
      _ = try device.replica.save(&draft, in: db)
    }
  }

  /// Two remotes, of which one has more than the other, and a log that begins late.
  private static func forget(_ device: Device) throws {
    let heads = try device.store.versionVector()
    var less = heads
    less[own] -= 2
    for (remote, heads) in [("https://example.org/spaces/home", heads), ("folder", less)] {
      _ = try device.store.offer(lackedBy: heads, repeating: [], maximumBytes: .max, to: remote)
      try device.store.noteAccepted(of: heads[own], by: remote)
      try device.store.resetPlace(
        RemotePlace(
          remoteID: remote, epoch: "e",
          cursor: RemoteCursor(rawValue: remote == "folder" ? "folder1,\(own):1" : "e.9.00")))
    }
    try device.store.resetPlace(
      RemotePlace(remoteID: "peer", epoch: "e", cursor: RemoteCursor(rawValue: "1")))
    try device.store.trim(heldBy: heads, at: "https://example.org/spaces/home")
    try device.store.trim(heldBy: heads, at: "peer")
    try device.store.trim(heldBy: less, at: "folder")
  }

  /// Jobs in every state that rests, with a file, a step and a gate.
  private static func enqueue(_ database: DatabaseQueue, _ folder: String) async throws {
    let queue = try await JobQueue.open(database)
    try Data("photo".utf8).write(to: URL(filePath: folder + "/photo"))
    let file = try await queue.attach(
      copyOf: URL(filePath: folder + "/photo"), as: "photo")
    try await database.write { db in
      for shelf in ["done", "failed", "limited", "waiting"] {
        _ = try queue.enqueue(
          Scan(shelf: shelf), files: shelf == "failed" ? [file] : [], in: db)
      }
    }
    let worker = JobWorker(queue, concurrency: 1, path: UnknownPathSource()) {
      $0.handle(Scan.self) { job, context in
        _ = try await context.step("look") {
          job.shelf.count
        } commit: { _, _ in
        }
        if job.shelf == "failed" { throw JobFailure(.permanent, "the photo shows no page") }
        if job.shelf == "limited" {
          throw JobFailure(.limited(delay: .seconds(80_000)), "the service would not")
        }
      }
    }
    try await worker.drain()
  }
}
