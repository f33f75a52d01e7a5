import Foundation
import GRDB
import Tern
import TernJobs
import TestDevice
import Testing

/// A database as it was written when the format was frozen. The file is never made again: a change
/// that fails here makes a new format, and still has to open this one.
@Suite("Frozen: a database")
struct StoredFixtureTests {
  /// Each format of a replica's own tables, and what today's code makes.
  enum Stored: CaseIterable {
    case format5, format6, format7, format8, made

    static var all: [Self] { FixtureOrigin.isMaking ? [.made] : allCases }
    var origin: FixtureOrigin { self == .made ? .made : .kept }
    /// What is made is of the last one that is kept.
    var format: Int {
      switch self {
      case .format5: 5
      case .format6: 6
      case .format7: 7
      case .format8, .made: 8
      }
    }
    var folder: URL { FixtureOrigin.kept(self == .format5 ? "v1" : "v1/format-\(format)") }
  }

  private func withCopy(
    _ stored: Stored, _ body: (String) async throws -> Void
  ) async throws {
    try await stored.origin.withCopy(of: stored.folder) {
      try await StoredSpecimen.make(in: $0.path)
    } _: {
      try await body($0.appending(path: "replica.sqlite").path)
    }
  }

  /// What is shown otherwise than it is held, since format 8.
  private func expectHidden(_ device: Device) throws {
    let marks = "SELECT ifnull(sameAs, '-') FROM mark ORDER BY id"
    #expect(try device.column(marks) == ["-", "-", "2"])
    #expect(try device.rows("SELECT id, tag FROM stay") == [["moved".databaseValue, .null]])
    let entries = try device.database.read { try device.replica.inbox(of: [.veiled], in: $0) }
    #expect(entries.map { $0.values["tag"] } == ["t"])
  }

  private func parts(beside path: String) throws -> Parts {
    let folder = URL(filePath: path).deletingLastPathComponent()
    let parts = Parts()
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
    for index in 0..<names.filter({ $0.hasSuffix(".part") }).count {
      parts.parts.append(
        Array(try Data(contentsOf: folder.appending(path: "snapshot-\(index).part"))))
    }
    #expect(parts.parts.count >= 7)
    return parts
  }

  private func rows(_ db: Database, _ table: String) throws -> [String] {
    let columns = try db.columns(in: table).map { "quote(\"\($0.name)\")" }
    return try String.fetchAll(
      db, sql: "SELECT \(columns.joined(separator: " || ' ' || ")) FROM \(table) ORDER BY 1")
  }

  private func expectTables(_ db: Database) throws {
    #expect(try rows(db, "shelf") == ["'t' 'roof'", "'w' 'west'"])
    #expect(try rows(db, "tag") == ["'early' 'same'", "'x' 'read'"])
    #expect(try rows(db, "loan") == ["'1' 1 'Ada'", "'9' 1 NULL"])
    let books = try Row.fetchAll(db, sql: "SELECT * FROM book")
    #expect(books.count == 1)
    #expect(books.first?["id"] == "2" && books.first?["title"] == "Emma")
    #expect(books.first?["body"] == "Emma Woodhouse")
    #expect((books.first?["place"] as String?).flatMap { OrderKey($0) } != nil)
  }

  @Test(arguments: Stored.all)
  func `it is read, and nothing in it is broken`(_ stored: Stored) async throws {
    try await withCopy(stored) { path in
      let diagnosis = try DatabaseDiagnosis(path: path)
      #expect(diagnosis.findings.map { "\($0)" } == [])
      #expect(
        Set(diagnosis.remarks.map(\.check)) == [
          "notes", "held", "waiting", "job-stuck", "gate-closed",
        ])
      let replica = try #require(try DatabaseFileInspection(path: path).replicas.first)
      #expect(replica.format == stored.format)
      #expect(replica.id == StoredSpecimen.own && replica.schemaVersion == 2)
      #expect(replica.remotes.map(\.id) == ["folder", "https://example.org/spaces/home", "peer"])
      #expect(replica.quarantined == ["refused": 1, "orphaned": 1, "displaced": 1])
      #expect(replica.pending[.schema] == 1 && replica.pending.count == 2)
      #expect(replica.pendingOperations.map(\.reason).last == .schema)
      #expect(replica.unsealedChanges == (stored.format < 8 ? 1 : 3))
      #expect(UInt64(replica.log.operations) < replica.authors.reduce(0) { $0 + $1.stored })
      let row = try DatabaseFileRow(path: path, table: "tag", key: ["x"])
      #expect(try row.explanation().standing == .shown)
    }
  }

  @Test(arguments: Stored.all)
  func `it is opened, and ends equal with a device that is new`(_ stored: Stored)
    async throws
  {
    try await withCopy(stored) { path in
      let device = try StoredSpecimen.open(DatabaseQueue(path: path), format: stored.format)
      #expect(try device.store.replicaID() == StoredSpecimen.own)
      try await device.database.read { try expectTables($0) }
      let inbox = try await device.replica.inbox()
      #expect(Set(inbox.map(\.table)).isSuperset(of: ["book"]))
      #expect(inbox.contains { $0.values["title"] == "Dune I" })
      // Of children of deleted parents the files have stored entries.
      #expect(
        inbox.filter { $0.id < 0 && $0.kind != .folded && $0.kind != .veiled }
          .map(\.kind.rawValue).sorted() == ["displaced", "orphaned", "refused"])
      #expect(inbox.allSatisfy { $0.id < 0 || InboxKind.ofLosses.contains($0.kind) })
      #expect(try device.replica.rowsOutOfSight() == [])
      let counts = try device.store.counts()
      // Opening sealed what was noted.
      #expect(counts.unsealedChanges == 0)
      #expect(counts.quarantined == 3 && counts.pending.counts == [.schema: 1, .unreadable: 1])
      try device.makeRareTables()
      let others = try device.rows(
        "SELECT remote, authors FROM grdb_tern_main_remote_authors UNION ALL "
          + "SELECT id, key FROM grdb_tern_main_reverted")
      #expect(others.count == (stored == .format5 ? 0 : 2))
      try await device.database.read { db in
        for former in ["aside", "deferred"] {
          let isThere = try db.tableExists("grdb_tern_main_\(former)")
          #expect(!isThere)
        }
      }
      #expect(try device.store.hasTrimmed(lackedBy: VersionVector()))
      let fresh = try StoredSpecimen.open(DatabaseQueue(), id: 9, format: stored.format)
      // As it was cut before the last write.
      try fresh.load(parts(beside: path))
      #expect(try fresh.store.storedVersionVector()[StoredSpecimen.gone] == 1)
      try fresh.pull(from: device)
      try expectEqual(device, fresh, "shelf", "tag", "loan")
      if stored.format >= 8 {
        for device in [device, fresh] { try expectHidden(device) }
        // Until the first pull after it was opened is at its end.
        let gone = "SELECT count(*) FROM grdb_tern_main_gone_local"
        #expect(try device.column(gone) == ["1"])
        try device.pull(from: fresh)
        #expect(try device.column(gone) == ["0"])
      }
      try fresh.execute(
        """
        UPDATE book SET scans = scans + 1, tags = json_insert(tags, '$[#]', 'new'),
          body = body || '!' WHERE id = '2';
        INSERT INTO shelf VALUES ('s', 'again'); DELETE FROM tag WHERE id = 'early'
        """)
      try device.execute("UPDATE book SET title = 'Emma!' WHERE id = '2'")
      try meet(device, fresh)
      try expectEqual(device, fresh, "shelf", "tag", "loan")
      #expect(
        try device.column("SELECT title || scans || tags || body FROM book WHERE id = '2'")
          == ["Emma!2[\"new\"]Emma Woodhouse!"])
      #expect(try device.column("SELECT id FROM book ORDER BY id") == ["2", "held"])
      #expect(try device.column("SELECT id FROM tag ORDER BY id") == ["late", "x"])
    }
  }

  @Test(arguments: Stored.all)
  func `its jobs go on`(_ stored: Stored) async throws {
    try await withCopy(stored) { path in
      let database = try DatabaseQueue(path: path)
      let queue = try await JobQueue.open(database)
      let records = try await database.read { try queue.records(in: $0) }
      #expect(records.map(\.state) == [.done, .failed, .waiting, .waiting])
      #expect(records[1].reason == "the photo shows no page")
      let failed = records[1].id
      try await database.write { db in
        try db.execute(sql: "UPDATE grdb_tern_jobgate SET since_ms = 0, reopens_ms = 1")
        try db.execute(sql: "UPDATE grdb_tern_job SET ready_ms = 0 WHERE state = 0")
        try queue.retry(failed, in: db)
      }
      let seen = Seen()
      let worker = JobWorker(queue, concurrency: 1, path: UnknownPathSource()) {
        $0.handle(StoredSpecimen.Scan.self) { job, context in
          let length = try await context.step("look") { 0 }
          let photo =
            job.shelf == "failed"
            ? String(decoding: try Data(contentsOf: context.file("photo")), as: UTF8.self) : ""
          await seen.add("\(job.shelf) \(length) \(photo)")
        }
      }
      try await worker.drain()
      // What the first two had stored is there; the last had not begun.
      #expect(await seen.lines.sorted() == ["failed 6 photo", "limited 7 ", "waiting 0 "])
      #expect(try DatabaseDiagnosis(path: path).findings == [])
    }
  }

  private actor Seen {
    private(set) var lines: [String] = []
    func add(_ line: String) { lines.append(line) }
  }

  /// Writes the files where there are none: `TERN_MAKE_FIXTURES=1`.
  @Test(.enabled(if: FixtureOrigin.isMaking, "made once, where TERN_MAKE_FIXTURES is set"))
  func `the files are made once`() async throws {
    let kept = Stored.made.folder
    // Refuses to overwrite.
    try #require(
      !FileManager.default.fileExists(atPath: kept.appending(path: "replica.sqlite").path))
    // Elsewhere, because the folder of the jobs' files knows by its path whose it is.
    try await withCopy(.made) { path in
      try FileManager.default.createDirectory(at: kept, withIntermediateDirectories: true)
      let folder = URL(filePath: path).deletingLastPathComponent().path
      for name in try FileManager.default.contentsOfDirectory(atPath: folder)
      where !name.hasSuffix("-jobs.lock") {
        try FileManager.default.copyItem(
          atPath: "\(folder)/\(name)", toPath: kept.appending(path: name).path)
      }
    }
  }
}
