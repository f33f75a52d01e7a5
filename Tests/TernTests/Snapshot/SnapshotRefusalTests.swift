import GRDB
import Tern
import TestDevice
import Testing

@Suite("Snapshot: snapshots that are refused")
struct SnapshotRefusalTests {
  private func filled() throws -> (Device, Parts) {
    let a = try Shelf.device(1)
    try a.execute("INSERT INTO shelf VALUES ('1', 'a'), ('2', 'b')")
    try a.execute("INSERT INTO book (id, tags) VALUES ('1', '[1,2]')")
    return (a, try Parts(of: a))
  }

  @Test func `INV-06: a snapshot that is cut short, damaged or in disorder changes nothing`() throws
  {
    let (_, whole) = try filled()
    var broken: [[[UInt8]]] = [[], Array(whole.parts.dropLast()), whole.parts + [whole.parts[0]]]
    broken.append(whole.parts.reversed())
    broken.append(Array(whole.parts.dropFirst()))
    for index in whole.parts.indices {
      var parts = whole.parts
      parts[index][parts[index].count - 1] ^= 1
      broken.append(parts)
      parts[index] = []
      broken.append(parts)
    }
    let b = try Shelf.device(2)
    try b.execute("INSERT INTO shelf VALUES ('3', 'mine')")
    try b.store.seal()
    let before = try b.store.canonicalState()
    for parts in broken {
      let source = Parts()
      source.parts = parts
      #expect(throws: (any Error).self) { try b.load(source) }
      #expect(try b.store.canonicalState() == before)
      #expect(try b.column("SELECT id FROM shelf") == ["3"])
    }
    try b.load(whole)
    #expect(try b.column("SELECT id FROM shelf ORDER BY 1") == ["1", "2", "3"])
  }

  @Test func `INV-06: what no device cuts is refused, and changes nothing`() throws {
    let author = SnapshotHeading.Author(
      id: ReplicaID(high: 0, low: 7), sequence: 3, time: HybridTime(milliseconds: 5))
    func part(_ kind: SnapshotPart.Kind, _ write: (inout ByteWriter) -> Void) throws -> [UInt8] {
      var writer = ByteWriter()
      writer.append(byte: kind.rawValue)
      write(&writer)
      return try SnapshotPart.encoded(writer.bytes)
    }
    let heading = try part(.heading) {
      SnapshotHeading(schemaVersion: 1, authors: [author]).append(to: &$0)
    }
    let end = try part(.end) { $0.append(varint: 0) }
    func waiting(_ sequence: UInt64, first: UInt64) throws -> [UInt8] {
      let operation = SyncOperation(
        .init(replica: author.id, sequence: sequence, time: author.time), body: [9])
      return try part(.operations) {
        $0.append(varint: 0)
        $0.append(varint: UInt64(operation.bytes.count))
        $0.append(raw: operation.bytes)
        $0.append(varint: 0)
        $0.append(byte: 1)
        $0.append(varint: first)
        $0.append(string: "made up")
      }
    }
    let seen = try part(.seen) {
      $0.append(varint: 0)
      $0.append(varint: 0)
      $0.append(varint: .max)
    }
    let b = try Shelf.device(2)
    try b.execute("INSERT INTO shelf VALUES ('3', 'mine')")
    try b.store.seal()
    let before = try b.store.canonicalState()
    for middle in [seen, try waiting(4, first: 4), try waiting(3, first: 1)] {
      let source = Parts()
      source.parts = [heading, middle, end]
      #expect(throws: WireError.self) { try b.load(source) }
      #expect(try b.store.canonicalState() == before)
    }
    let honest = Parts()
    honest.parts = [heading, try waiting(3, first: 3), end]
    try b.load(honest)
    #expect(try b.store.counts().pending[.unreadable] == 1)
  }

  @Test func `a newer schema's snapshot is refused, and an older one's is taken`() throws {
    let old = try Device(SyncSchema(version: 1, tables: [SyncTable("shelf")]), id: 1) {
      try $0.execute(sql: Shelf.creation)
    }
    let new = try Device(
      SyncSchema(version: 2, tables: [SyncTable("shelf"), SyncTable("note")]), id: 2
    ) { try $0.execute(sql: Shelf.creation) }
    try new.execute("INSERT INTO note VALUES ('a', 1, 'x'); INSERT INTO shelf VALUES ('1', 'n')")
    try old.pull(from: new)
    let error = #expect(throws: SnapshotError.self) { try old.load(Parts(of: new)) }
    #expect(error?.code == .schemaMismatch)
    // What the old one put off comes along.
    #expect(try old.store.counts().pending[.schema] == 1)
    let fresh = try Device(
      SyncSchema(version: 2, tables: [SyncTable("shelf"), SyncTable("note")]), id: 3
    ) { try $0.execute(sql: Shelf.creation) }
    try fresh.load(Parts(of: old))
    try expectEqual(fresh, new, "note", "shelf")
    #expect(try fresh.store.counts().pending[.schema] == 0)
    let other = try Device(SyncSchema(version: 1, tables: [SyncTable("shelf")]), id: 4) {
      try $0.execute(sql: Shelf.creation)
    }
    try other.load(Parts(of: old))
    #expect(try other.store.counts().pending[.schema] == 1)
    let upgraded = try other.upgraded(
      SyncSchema(version: 2, tables: [SyncTable("shelf"), SyncTable("note")]))
    try expectEqual(upgraded, new, "note", "shelf")
  }

  @Test func `a table with another delete rule is refused and not emptied`() throws {
    let (_, parts) = try filled()
    let b = try Shelf.device(2, .updateWins)
    try b.execute("INSERT INTO book (id) VALUES ('7')")
    let error = #expect(throws: SnapshotError.self) { try b.load(parts) }
    #expect(error?.code == .schemaMismatch)
    #expect(try b.column("SELECT id FROM book") == ["7"])
  }

  @Test func `what only this replica knows is not lost to an older snapshot`() throws {
    let (a, parts) = try filled()
    let b = try Shelf.device(2)
    try b.load(parts)
    try a.execute("UPDATE shelf SET name = 'later'")
    let later = try Parts(of: a)
    let c = try Shelf.device(3)
    try c.load(later)
    // Its log begins behind what it loaded, so an older state can take no other's place.
    let error = #expect(throws: SnapshotError.self) {
      try c.store.loadSnapshot(from: nil, isRepairing: true) { parts.part($0) }
    }
    #expect(error?.code == .lacksOperations)
    #expect(try c.column("SELECT DISTINCT name FROM shelf") == ["later"])
    // Joined with what is here, it changes nothing.
    try c.load(parts)
    #expect(try c.column("SELECT DISTINCT name FROM shelf") == ["later"])
    // The author's own log is whole.
    try a.load(parts)
    #expect(try a.column("SELECT DISTINCT name FROM shelf") == ["later"])
    try expectEqual(a, c, "shelf", "book")
  }

  @Test func `a copy's snapshot, with more of this replica than it made, is refused`() throws {
    let (_, parts) = try filled()
    let twin = try Shelf.device(1)
    let error = #expect(throws: MergeError.self) { try twin.load(parts) }
    #expect(error?.code == .foreignOwn)
  }

  @Test func `a row too long to travel keeps from cutting, by its table's name`() throws {
    let (a, _) = try filled()
    try a.execute("UPDATE shelf SET name = hex(zeroblob(9000000)) WHERE id = '1'")
    let error = #expect(throws: SnapshotError.self) { try Parts(of: a) }
    #expect(error?.code == .largeRows && error?.message.contains("shelf") == true)
  }

  @Test func `a row that several writes made too long keeps from cutting, by its table's name`()
    throws
  {
    let a = try Device(SyncSchema(version: 1, tables: [SyncTable("film")]), id: 1) {
      try $0.execute(sql: "CREATE TABLE film (id TEXT NOT NULL PRIMARY KEY, a, b, c)")
    }
    try a.commit("INSERT INTO film (id) VALUES ('1')")
    for column in ["a", "b", "c"] { try a.commit("UPDATE film SET \(column) = zeroblob(12000000)") }
    #expect(try a.store.counts().largeRows.isEmpty)
    let error = #expect(throws: SnapshotError.self) { try Parts(of: a) }
    #expect(error?.code == .largeRows && error?.message.contains("film") == true)
    try a.commit("UPDATE film SET c = NULL")
    #expect(try Parts(of: a).summary?.rows == 1)
  }

  @Test func `rows that a tool took away keep from cutting, until they are back`() throws {
    let (a, _) = try filled()
    let triggers = try a.database.read {
      try Row.fetchAll($0, sql: "SELECT name, sql FROM sqlite_master WHERE type = 'trigger'")
    }
    for trigger in triggers { try a.execute("DROP TRIGGER \"\(trigger[0] as String)\"") }
    try a.execute("DELETE FROM shelf WHERE id = '1'")
    for trigger in triggers { try a.execute(trigger[1]) }
    let error = #expect(throws: SnapshotError.self) { try Parts(of: a) }
    #expect(error?.code == .missingRows && error?.message.contains("shelf") == true)
    try a.execute("INSERT INTO shelf VALUES ('1', 'again')")
    let b = try Shelf.device(2)
    try b.load(Parts(of: a))
    #expect(try b.column("SELECT name FROM shelf WHERE id = '1'") == ["again"])
    try expectEqual(a, b, "shelf", "book")
  }

  @Test func `INV-12: operations that the log no longer has are served to nobody`() throws {
    let (a, parts) = try filled()
    let b = try Shelf.device(2)
    try b.load(parts)
    #expect(try b.store.operations(lackedBy: VersionVector(), maximumBytes: .max).isEmpty)
    #expect(try b.store.counts().operations == 0)
    try b.execute("INSERT INTO shelf VALUES ('4', 'b')")
    try a.pull(from: b)
    try a.execute("INSERT INTO shelf VALUES ('5', 'a')")
    try b.pull(from: a)
    let heads = try a.store.versionVector()
    let id = try a.store.replicaID()
    let served = try b.store.operations(
      lackedBy: VersionVector([id: heads[id] - 1]), maximumBytes: .max)
    #expect(served.map(\.envelope.replica).sorted() == [id, try b.store.replicaID()].sorted())
    try expectEqual(a, b, "shelf", "book")
  }
}
