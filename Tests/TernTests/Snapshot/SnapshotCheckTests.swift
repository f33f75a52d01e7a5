import GRDB
import Tern
import TernCore
import TestDevice
import Testing

/// Parts that say one thing in their heading and hold another.
@Suite("Snapshot: parts that would take away what they name")
struct SnapshotCheckTests {
  /// Two devices with the same rows, of which the first has written once more since.
  private func devices() throws -> (Device, Device) {
    let (a, b) = (try Shelf.device(1), try Shelf.device(2))
    try a.execute("INSERT INTO book (id, title) VALUES ('1', 'one'), ('2', 'two')")
    try meet(a, b)
    try b.execute("INSERT INTO book (id, title) VALUES ('3', 'three')")
    try meet(a, b)
    try a.execute("INSERT INTO book (id, title) VALUES ('4', 'four')")
    try a.store.seal()
    return (a, b)
  }

  private func contents(_ device: Device) throws -> [[UInt8]] {
    try Parts(of: device).parts.map { try SnapshotPart.content(of: $0) }
  }

  private func heading(
    _ device: Device, _ change: (inout SnapshotHeading) -> Void
  ) throws -> [UInt8] {
    var heading = try contents(device)[0].withUnsafeBytes { buffer in
      var reader = ByteReader(buffer)
      _ = try reader.byte("kind")
      return try SnapshotHeading(&reader)
    }
    change(&heading)
    var writer = ByteWriter()
    writer.append(byte: SnapshotPart.Kind.heading.rawValue)
    heading.append(to: &writer)
    return writer.bytes
  }

  private func end(_ rows: UInt64) -> [UInt8] {
    var writer = ByteWriter()
    writer.append(byte: SnapshotPart.Kind.end.rawValue)
    writer.append(varint: rows)
    return writer.bytes
  }

  private func load(_ contents: [[UInt8]], into device: Device) throws {
    let parts = try contents.map { try SnapshotPart.encoded($0) }
    _ = try device.store.loadSnapshot(from: RemotePlace(remoteID: "r", epoch: "e", cursor: nil)) {
      $0 < parts.count ? parts[$0] : nil
    }
  }

  #if Rehearsal
  @Test(arguments: Planted.ofDevices)
  func `INV-03: a planted bug is caught`(_ bug: Planted) throws {
    let (a, b) = try devices()
    let before = try b.store.canonicalState()
    let lie = [try contents(a)[0], end(0)]
    #expect(throws: SnapshotError.self) { try load(lie, into: b) }
    #expect(try b.store.canonicalState() == before)
    try Planted.with(bug) { try load(lie, into: b) }
    #expect(try b.store.canonicalState().isEmpty)
  }
  #endif

  @Test("INV-03: no times in the heading make an empty one pass", arguments: [true, false])
  func times(isOfAll: Bool) throws {
    let (a, b) = try devices()
    let before = try b.store.canonicalState()
    let heading = try heading(a) { heading in
      for index in heading.authors.indices where isOfAll || heading.authors[index].sequence > 1 {
        heading.authors[index].time = HybridTime(milliseconds: 1)
      }
    }
    let error = #expect(throws: SnapshotError.self) { try load([heading, end(0)], into: b) }
    #expect(error?.code == .takesAway)
    #expect(try b.store.canonicalState() == before)
  }

  @Test func `INV-03: of authors whose times differ nothing is taken away`() throws {
    let (a, b) = try devices()
    let c = try Shelf.device(3)
    for other in [a, b] { try c.pull(from: other) }
    let before = try c.store.canonicalState()
    let heading = try heading(a) { heading in
      for index in heading.authors.indices {
        heading.authors[index].time = HybridTime(milliseconds: 1)
      }
    }
    // The first makes forks of all.
    for lie in [heading, try contents(a)[0]] {
      try load([lie, end(0)], into: c)
      #expect(try c.store.canonicalState() == before)
    }
  }

  @Test func `INV-03: operations that wait for nothing excuse nothing`() throws {
    let (a, b) = try devices()
    let before = try b.store.canonicalState()
    for parts in [[], [("nosuch", "")], [("book", "nosuch")]] {
      var writer = ByteWriter()
      writer.append(byte: SnapshotPart.Kind.operations.rawValue)
      let authors = try contents(a)[0].withUnsafeBytes { buffer in
        var reader = ByteReader(buffer)
        _ = try reader.byte("kind")
        return try SnapshotHeading(&reader).authors.map(\.id)
      }
      for (number, id) in authors.enumerated() {
        for operation in try a.store.operations(lackedBy: VersionVector(), maximumBytes: .max)
        where operation.envelope.replica == id {
          writer.append(varint: UInt64(number))
          writer.append(varint: UInt64(operation.bytes.count))
          writer.append(raw: operation.bytes)
          writer.append(varint: UInt64(parts.count))
          for (table, column) in parts {
            writer.append(string: table)
            writer.append(string: column)
          }
          writer.append(byte: 0)
        }
      }
      let lie = [try contents(a)[0], writer.bytes, end(0)]
      let error = #expect(throws: SnapshotError.self) { try load(lie, into: b) }
      #expect(error?.code == .takesAway)
      #expect(try b.store.canonicalState() == before)
    }
  }

  @Test func `INV-03: what waits for a column's later name is not lost`() throws {
    let a = try Device(SyncSchema(version: 1, tables: [SyncTable("tag")]), id: 1) {
      try $0.execute(sql: "CREATE TABLE tag (id TEXT NOT NULL PRIMARY KEY, title TEXT, note TEXT)")
    }
    let later = SyncTable("tag", formerColumnNames: ["name": "title"])
    let b = try Device(SyncSchema(version: 2, tables: [later]), id: 2) {
      try $0.execute(sql: "CREATE TABLE tag (id TEXT NOT NULL PRIMARY KEY, name TEXT, note TEXT)")
    }
    try a.execute("INSERT INTO tag VALUES ('1', 'one', NULL)")
    try a.store.seal()
    try b.pull(from: a)
    try b.execute("UPDATE tag SET name = 'later', note = 'new'")
    try b.store.seal()
    try a.pull(from: b)
    #expect(try a.column("SELECT title || ' ' || note FROM tag") == ["one new"])
    try load(contents(a), into: b)
    #expect(try b.column("SELECT name || ' ' || note FROM tag") == ["later new"])
    // It excuses the loss of no other column.
    let rows = try #require(contents(a).first { $0[0] == SnapshotPart.Kind.rows.rawValue })
    try b.execute("UPDATE tag SET name = 'latest', note = 'newest'")
    try b.store.seal()
    try a.pull(from: b)
    let lie = try contents(a).map { $0[0] == SnapshotPart.Kind.rows.rawValue ? rows : $0 }
    let error = #expect(throws: SnapshotError.self) { try load(lie, into: b) }
    #expect(error?.code == .takesAway)
    #expect(try b.column("SELECT name || ' ' || note FROM tag") == ["latest newest"])
  }

  @Test func `a row that comes twice is refused`() throws {
    let (a, b) = try devices()
    let before = try b.store.canonicalState()
    var lie = try contents(a).filter { $0[0] != SnapshotPart.Kind.end.rawValue }
    let rows = lie.firstIndex { $0[0] == SnapshotPart.Kind.rows.rawValue }!
    lie.insert(lie[rows], at: rows)
    #expect(throws: WireError.self) { try load(lie + [end(8)], into: b) }
    #expect(try b.store.canonicalState() == before)
  }
}
