#if Server
import Foundation
import GRDB
import Tern
import TernServer
import TestDevice
import Testing

/// A member that offers a snapshot with the real heads and less in it than they stand for: the
/// server refuses it, and so do devices that are given it.
@Suite("Snapshot: one that lacks what it says it holds", .timeLimit(.minutes(2)))
struct LyingSnapshotTests {
  struct Lie: CustomTestStringConvertible, Sendable {
    let testDescription: String
    /// What is done to the member's own state and table.
    let sql: String
  }

  static let lies = [
    Lie(
      testDescription: "without any row",
      sql: "DELETE FROM item; DELETE FROM grdb_tern_main_row_1;"),
    Lie(
      testDescription: "without one row",
      sql: "DELETE FROM item WHERE id = '7'; DELETE FROM grdb_tern_main_row_1 WHERE k0 = '7';"),
    Lie(
      testDescription: "with the row that somebody deleted",
      sql: """
        INSERT INTO item VALUES ('gone', 'back', 1);
        UPDATE grdb_tern_main_row_1 SET life = 1, covered = 2 WHERE k0 = 'gone';
        """),
    Lie(
      testDescription: "without that the row was deleted",
      sql: "DELETE FROM grdb_tern_main_row_1 WHERE k0 = 'gone';"),
    Lie(
      testDescription: "with an older write to a column",
      sql: """
        UPDATE item SET text = 'older' WHERE id = '9';
        UPDATE grdb_tern_main_row_1 SET cells = NULL WHERE k0 = '9';
        """),
  ]

  @Test("INV-03: takes nothing away, and is named", arguments: lies, [true, false])
  func refused(_ lie: Lie, isBase: Bool) async throws {
    var limits = ServerLimits()
    (limits.retention, limits.lease) = (.zero, .seconds(-2 * 24 * 60 * 60))
    try await Server.run(Server.memoryStore(seed: 1), limits: limits) { server in
      let (a, b) = (try await Device(server.port), try await Device(server.port))
      let member = try await Device(server.port)
      for id in 1...20 {
        try await a.execute("INSERT INTO item VALUES ('\(id)', 'text \(id)', 1)")
        try a.store.seal()
      }
      try await a.execute("INSERT INTO item VALUES ('gone', 'for good', 1)")
      try a.store.seal()
      try await a.syncOnce()
      try await b.syncOnce()
      try await b.execute("DELETE FROM item WHERE id = 'gone'")
      try await b.execute("UPDATE item SET text = 'later' WHERE id = '9'")
      for device in [b, a, member] { try await device.syncOnce() }
      let expected = try a.store.canonicalState()
      // Something that they have not pulled when the snapshot comes.
      try await member.execute("INSERT INTO item VALUES ('news', '', 1)")
      try await member.syncOnce()
      try await lieAbout(lie, by: member, to: server, isBase: isBase)
      try await a.execute("INSERT INTO item VALUES ('own', 'written meanwhile', 1)")
      for device in [a, b, a] {
        let error = await #expect(throws: SnapshotError.self) { try await device.syncOnce() }
        #expect(error?.code == .takesAway)
        #expect(device.engine.status.current.lastError?.code == .snapshotUnloadable)
        let kept = try device.store.canonicalState().filter { $0.key != ["own"] }
        #expect(kept == expected)
      }
      // What is written here still goes out.
      #expect(a.engine.status.current.unpushed == 0)
    }
  }

  @Test func `the app can accept one, and rows of the kept file come back`() async throws {
    let folder = NSTemporaryDirectory() + "/tern-accepted-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    var limits = ServerLimits()
    (limits.retention, limits.lease) = (.zero, .seconds(-2 * 24 * 60 * 60))
    try await Server.run(Server.memoryStore(seed: 1), limits: limits) { server in
      let (memory, member) = (try await Device(server.port), try await Device(server.port))
      let a = try await Device(path: folder + "/app.sqlite") { _ in
        [try Server.remote(port: server.port)]
      }
      for id in 1...20 {
        try await a.execute("INSERT INTO item VALUES ('\(id)', 'text \(id)', 1)")
        try a.store.seal()
      }
      for device in [a, member, memory] { try await device.syncOnce() }
      let early = await #expect(throws: SnapshotError.self) { try await a.engine.acceptSnapshot() }
      #expect(early?.code == .notRefused)
      try await member.execute("INSERT INTO item VALUES ('news', '', 1)")
      try await member.syncOnce()
      try await lieAbout(Self.lies[0], by: member, to: server, isBase: false)
      for device in [a, memory] {
        let error = await #expect(throws: SnapshotError.self) { try await device.syncOnce() }
        #expect(error?.code == .takesAway)
      }
      // What nobody can keep is not given up.
      let unkept = await #expect(throws: SnapshotError.self) {
        try await memory.engine.acceptSnapshot()
      }
      #expect(unkept?.code == .unsupported)
      await #expect(throws: SnapshotError.self) { try await memory.syncOnce() }

      try await a.execute("INSERT INTO item VALUES ('own', 'written meanwhile', 1)")
      try "not ours".write(
        toFile: folder + "/app.sqlite-kept-1.sqlite", atomically: true, encoding: .utf8)
      let kept = try await a.engine.acceptSnapshot()
      #expect(kept == folder + "/app.sqlite-kept-2.sqlite")
      let rights = try FileManager.default.attributesOfItem(atPath: kept)[.posixPermissions]
      #expect(rights as? Int == 0o600)
      try await a.syncOnce()
      #expect(try await a.column("SELECT id FROM item") == ["own"])
      #expect(a.engine.status.current.lastError == nil)

      let preview = try await a.replica.restoreRows(fromFile: kept, preview: true)
      #expect("\(preview)" == "rows of “item”: 20 brought back")
      #expect(try await a.column("SELECT id FROM item") == ["own"])
      #expect(try await a.replica.restoreRows(fromFile: kept) == preview)
      #expect(try await a.replica.restoreRows(fromFile: kept).rows.isEmpty)
      try await a.syncOnce()
      let device = try await Device(server.port)
      try await device.syncOnce()
      #expect(
        try await device.column("SELECT count(*) FROM item WHERE text LIKE 'text %'") == ["20"])
    }
  }

  static let inventions = [
    Lie(
      testDescription: "with a row that nobody wrote",
      sql: """
        INSERT INTO item VALUES ('forged', 'nobody wrote it', 1);
        INSERT INTO grdb_tern_main_row_1 (k0, life, time, author, covered)
        SELECT 'forged', life, time, author, covered FROM grdb_tern_main_row_1 WHERE k0 = '7';
        """),
    Lie(
      testDescription: "with another value than was written",
      sql: "UPDATE item SET text = 'forged' WHERE id = '7';"),
    Lie(
      testDescription: "with a row of a later life",
      sql: "UPDATE grdb_tern_main_row_1 SET life = 3 WHERE k0 = '7';"),
  ]

  @Test("INV-03: what nobody wrote is refused by the server", arguments: inventions, [true, false])
  func invented(_ lie: Lie, hasSnapshot: Bool) async throws {
    try await Server.run(Server.memoryStore(seed: 1)) { server in
      let member = try await Device(server.port)
      for id in 1...9 {
        try await member.execute("INSERT INTO item VALUES ('\(id)', 'text \(id)', 1)")
      }
      try await member.syncOnce()
      if hasSnapshot {
        try await offer(from: member, to: server, key: "before")
        try await member.execute("INSERT INTO item VALUES ('news', '', 1)")
        try await member.syncOnce()
      }
      let before = try server.service.greet(SpaceName(Server.space)).snapshot
      #expect((before != nil) == hasSnapshot)
      try await member.executeUnnoted(lie.sql)
      let error = await #expect(throws: RemoteError.self) {
        try await offer(from: member, to: server, key: "lie")
      }
      #expect(error?.code == .snapshotRefused)
      #expect(try server.service.greet(SpaceName(Server.space)).snapshot == before)
    }
  }

  /// What is done to the parts of an honest snapshot, and to its offer.
  enum Forgery: CaseIterable {
    case headBehindOffer, headOfOtherTime, tableUnderOtherRule, columnUnderOtherRule
    case tableUnderOtherName, rowTwice, strangeOperation
  }

  private func forge(
    _ forgery: Forgery, _ parts: [[UInt8]], _ offer: inout SnapshotOffer,
    _ last: SyncOperation
  ) throws -> [[UInt8]] {
    var contents = try parts.map { try SnapshotPart.content(of: $0) }
    let rows = try #require(contents.firstIndex { $0[0] == SnapshotPart.Kind.rows.rawValue })
    func replace(_ old: [UInt8], with new: [UInt8]) throws {
      let content = contents[rows]
      let start = try #require(
        content.indices.first { content[$0...].starts(with: old) })
      contents[rows].replaceSubrange(start..<start + old.count, with: new)
    }
    func heading(_ sequence: UInt64, _ time: HybridTime) {
      let author = SnapshotHeading.Author(id: last.envelope.replica, sequence: sequence, time: time)
      var writer = ByteWriter()
      writer.append(byte: SnapshotPart.Kind.heading.rawValue)
      SnapshotHeading(schemaVersion: 1, authors: [author]).append(to: &writer)
      contents[0] = writer.bytes
    }
    func carry(_ operation: SyncOperation) throws {
      let place = try #require(
        contents.firstIndex { $0[0] == SnapshotPart.Kind.operations.rawValue })
      var writer = ByteWriter()
      writer.append(byte: SnapshotPart.Kind.operations.rawValue)
      writer.append(varint: 0)
      writer.append(varint: UInt64(operation.bytes.count))
      writer.append(raw: operation.bytes)
      writer.append(varint: 0)
      writer.append(byte: 0)
      contents[place] = writer.bytes
    }
    func takeRows() {
      contents.removeAll { $0[0] == SnapshotPart.Kind.rows.rawValue }
      contents[contents.count - 1] = [SnapshotPart.Kind.end.rawValue, 0]
    }
    let id = last.envelope.replica
    switch forgery {
    case .headBehindOffer:
      heading(0, .zero)
      try carry(last)
      takeRows()
    case .headOfOtherTime:
      // The author has a later operation, with which no time is compared.
      let early = HybridTime(milliseconds: 1)
      heading(last.envelope.sequence - 1, early)
      offer.heads[id] = SnapshotHead(sequence: last.envelope.sequence - 1, time: early)
      takeRows()
    case .tableUnderOtherRule:
      try replace(Array("item".utf8) + [0], with: Array("item".utf8) + [1])
    case .columnUnderOtherRule:
      try replace(Array("text".utf8) + [0], with: Array("text".utf8) + [6])
    case .tableUnderOtherName:
      try replace(Array("item".utf8), with: Array("iten".utf8))
      offer.schema?.renamed = [.init(name: "iten", formerNames: ["item"], formerColumns: [:])]
    case .rowTwice:
      contents.insert(contents[rows], at: rows)
      contents[contents.count - 1] = [SnapshotPart.Kind.end.rawValue, 18]
    case .strangeOperation:
      var strange = last.envelope
      (strange.sequence, strange.continues) = (strange.sequence + 1, true)
      strange.time = strange.time.next(atMilliseconds: 0)
      try carry(SyncOperation(strange, body: []))
    }
    offer.parts = contents.count
    return try contents.map { try SnapshotPart.encoded($0) }
  }

  @Test("INV-03: a forged part is refused by the server", arguments: Forgery.allCases)
  func forged(_ forgery: Forgery) async throws {
    try await Server.run(Server.memoryStore(seed: 1)) { server in
      let member = try await Device(server.port)
      let remote = try Server.remote(port: server.port)
      var page: PulledPage?
      var cursors: [RemoteCursor] = []
      for id in 1...9 {
        try await member.execute("INSERT INTO item VALUES ('\(id)', 'text \(id)', 1)")
        try await member.syncOnce()
        page = try await remote.pull(after: nil, excluding: ReplicaID(high: 0, low: 9))
        if let page { cursors.append(page.cursor) }
      }
      let cursor = forgery == .headOfOtherTime ? cursors[7] : cursors[8]
      var parts: [[UInt8]] = []
      let summary = try member.store.cutSnapshot { parts.append($0) }
      var offer = SnapshotOffer(
        key: "lie", parts: parts.count, cursor: cursor, heads: summary.heads,
        schema: summary.schema)
      let forged = try forge(forgery, parts, &offer, #require(page?.operations.last))
      let upload = try await remote.beginSnapshot(offer)
      for index in upload.missing {
        try await remote.putSnapshotPart(forged[index], index: index, of: upload.id)
      }
      let error = await #expect(throws: RemoteError.self) {
        try await remote.completeSnapshot(upload.id)
      }
      let code: RemoteError.Code =
        forgery == .strangeOperation ? .sequenceGap : .snapshotRefused
      #expect(error?.code == code, "\(String(describing: error))")
      #expect(try server.service.greet(SpaceName(Server.space)).snapshot == nil)
    }
  }

  private func offer(from member: Device, to server: Server, key: String) async throws {
    let remote = try Server.remote(port: server.port)
    try member.store.seal()
    var parts: [[UInt8]] = []
    let summary = try member.store.cutSnapshot { parts.append($0) }
    let upload = try await remote.beginSnapshot(
      SnapshotOffer(
        key: key, parts: parts.count, cursor: member.store.place(at: remote.id)?.cursor,
        heads: summary.heads, schema: summary.schema))
    for index in upload.missing {
      try await remote.putSnapshotPart(parts[index], index: index, of: upload.id)
    }
    try await remote.completeSnapshot(upload.id)
  }

  /// Uploads what the member cuts of a state that something was taken out of.
  private func lieAbout(_ lie: Lie, by member: Device, to server: Server, isBase: Bool)
    async throws
  {
    let remote = try Server.remote(port: server.port)
    let place = try member.store.place(at: remote.id)
    // A base is taken where the server lacks what it stands for, and its operator asks.
    if isBase {
      try server.service.refill(SpaceName(Server.space))
      try await member.execute("INSERT INTO item VALUES ('unsent', '', 1)")
    }
    try member.store.seal()
    try await member.executeUnnoted(lie.sql)
    var parts: [[UInt8]] = []
    let summary = try member.store.cutSnapshot { parts.append($0) }
    let offer = SnapshotOffer(
      key: "lie", parts: parts.count, cursor: place?.cursor, heads: summary.heads,
      isBase: isBase, schema: summary.schema)
    let upload = try await remote.beginSnapshot(offer)
    for index in upload.missing {
      try await remote.putSnapshotPart(parts[index], index: index, of: upload.id)
    }
    let refused = await #expect(throws: RemoteError.self) {
      try await remote.completeSnapshot(upload.id)
    }
    #expect(refused?.code == .snapshotRefused)
    #expect(refused?.message.contains("writes that it lacks") == true)
    let again = await #expect(throws: RemoteError.self) {
      _ = try await remote.beginSnapshot(offer)
    }
    #expect(again?.code == .snapshotRefused)
    let before = try server.service.greet(SpaceName(Server.space))
    #expect(before.snapshot == nil && before.trimmed == 0)
    // An operator who takes it all the same is no better than a server that looks at nothing.
    _ = try server.service.acceptSnapshot(upload.id, in: SpaceName(Server.space))
    for _ in 1...20 { _ = try server.service.maintain(SpaceName(Server.space)) }
    #expect(try server.service.greet(SpaceName(Server.space)).trimmed > 0)
  }
}
#endif
