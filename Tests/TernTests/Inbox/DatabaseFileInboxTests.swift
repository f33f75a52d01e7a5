import Foundation
import GRDB
import Tern
import TestDevice
import TestProcesses
import Testing

/// As another process looks into the file of an app that has it open.
@Suite("Inbox: of a file, from outside")
struct DatabaseFileInboxTests {
  private static let creation = """
    CREATE TABLE shelf (id TEXT NOT NULL PRIMARY KEY);
    CREATE TABLE book (
      isbn TEXT NOT NULL PRIMARY KEY, title TEXT, read INTEGER NOT NULL DEFAULT 0,
      place TEXT UNIQUE, shelf TEXT REFERENCES shelf ON DELETE CASCADE);
    """
  private static let schema = SyncSchema(
    version: 1, tables: [SyncTable("shelf"), SyncTable("book", merge: ["read": .counter])])

  /// A device with a value that lost to a later write, one that a delete covers, one of a row that
  /// two inserted, and rows that are kept out.
  private static func device(_ path: String) throws -> Device {
    let a = try Device(schema, id: 1, database: DatabasePool(path: path)) {
      try $0.execute(sql: creation)
    }
    let b = try Device(schema, id: 2) { try $0.execute(sql: creation) }
    try a.commit(
      """
      INSERT INTO shelf VALUES ('attic');
      INSERT INTO book (isbn, title) VALUES ('1', 'Dune'), ('2', 'Mort')
      """)
    try meet(a, b)
    try a.commit(
      """
      UPDATE book SET title = 'mine'; DELETE FROM shelf;
      INSERT INTO book (isbn, title, place) VALUES ('3', 'mine', 'A'), ('4', 'mine', NULL)
      """)
    try delay(b, after: a)
    try b.commit(
      """
      UPDATE book SET title = 'theirs' WHERE isbn = '1'; DELETE FROM book WHERE isbn = '2';
      INSERT INTO book (isbn, title, shelf) VALUES ('5', 'theirs', 'attic');
      INSERT INTO book (isbn, title, place) VALUES ('6', 'theirs', 'A'), ('4', 'theirs', NULL)
      """)
    try meet(a, b)
    return a
  }

  private func title(_ isbn: String, _ device: Device) throws -> String? {
    try device.database.read {
      try String.fetchOne($0, sql: "SELECT title FROM book WHERE isbn = ?", arguments: [isbn])
    }
  }

  @Test func `it has the replica's own entries, with what their rows show`() async throws {
    try await inTemporaryFolder { folder in
      let device = try Self.device("\(folder)/a.sqlite")
      let items = try DatabaseFileInbox(path: "\(folder)/a.sqlite", replica: "main")
        .items(limit: 100)
      #expect(try items.map(\.entry) == device.inbox)
      let kinds = Set(items.map(\.entry.kind))
      #expect(kinds == [.lastWriter, .deleteWins, .sameKey, .orphaned, .displaced])
      let shown = items.first { $0.entry.kind == .lastWriter }?.shown?["title"]
      #expect(shown == "theirs")
      #expect(
        items.filter { $0.entry.kind != .lastWriter && $0.entry.kind != .sameKey }
          .allSatisfy { $0.shown == nil })
    }
  }

  @Test(arguments: [InboxKind.lastWriter, .deleteWins, .sameKey])
  func `what lost is restored, and the app's next seal makes an operation of it`(
    _ kind: InboxKind
  ) async throws {
    try await inTemporaryFolder { folder in
      let path = "\(folder)/a.sqlite"
      let device = try Self.device(path)
      let before = try device.store.counts().operations
      let entry = try #require(try device.entry(kind))
      let inbox = DatabaseFileInbox(path: path, replica: "main")
      #expect(DatabaseFileInbox.canRestore(entry))
      try inbox.restore(.init(entry))
      #expect(try device.entry(kind) == nil)
      let isbn = try #require(entry.key.first?.string)
      #expect(try title(isbn, device) == "mine")
      try device.store.seal()
      #expect(try device.store.counts().operations == before + 1)
      let history = try await device.replica.history("book", key: entry.key)
      #expect(history.changes.last?.stamp.isOwn == true)
      #expect(try DatabaseDiagnosis(path: path).isHealthy)
      // It is gone, and whoever has the page of before is told so.
      let error = #expect(throws: InboxError.self) { try inbox.restore(.init(entry)) }
      #expect(error?.code == .missingEntry)
    }
  }

  @Test(arguments: [InboxKind.orphaned, .displaced])
  func `a row that is kept out is not restored from outside`(_ kind: InboxKind) async throws {
    try await inTemporaryFolder { folder in
      let device = try Self.device("\(folder)/a.sqlite")
      let entry = try #require(try device.entry(kind))
      #expect(!DatabaseFileInbox.canRestore(entry))
      let error = #expect(throws: InboxError.self) {
        try DatabaseFileInbox(path: "\(folder)/a.sqlite", replica: "main").restore(.init(entry))
      }
      #expect(error?.code == .wrongAction)
      #expect(try device.entry(kind) == entry)
    }
  }

  @Test func `nothing is written to a replica of another format, or while its triggers are lifted`()
    async throws
  {
    try await inTemporaryFolder { folder in
      let path = "\(folder)/a.sqlite"
      let device = try Self.device(path)
      let entry = try #require(try device.entry(.lastWriter))
      let inbox = DatabaseFileInbox(path: path, replica: "main")
      try device.execute("CREATE TABLE grdb_tern_main_lifted (one)")
      #expect(throws: InboxError.self) { try inbox.restore(.init(entry)) }
      try device.execute("DROP TABLE grdb_tern_main_lifted")
      try device.execute("UPDATE grdb_tern_main_replica SET format = format - 1")
      #expect(throws: InboxError.self) { try inbox.restore(.init(entry)) }
      try device.execute("UPDATE grdb_tern_main_replica SET format = 99")
      let error = #expect(throws: InspectionError.self) { try inbox.restore(.init(entry)) }
      #expect(error?.code == .newerFormat)
      #expect(try title("1", device) == "theirs")
    }
  }

  @Test func `a write makes no file where there is none`() async throws {
    try await inTemporaryFolder { folder in
      let file = GuestFile(path: "\(folder)/none.sqlite")
      let error = #expect(throws: InspectionError.self) { try file.write { _ in } }
      #expect(error?.code == .absent)
      let names = try FileManager.default.contentsOfDirectory(atPath: folder)
      #expect(names.isEmpty)
    }
  }
}
