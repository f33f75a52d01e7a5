import GRDB
import TernDatabase
import TestDevice
import Testing

@testable import Tern

/// What the decoder makes of masks, given as SQL.
private func note(_ masks: String) throws -> Note {
  try DatabaseQueue().read { db in
    let scan = try FastStatement(db, "SELECT 0, \(masks)")
    defer { scan.reset() }
    _ = try scan.step()
    return try Note(scan, 1, count: masks.split(separator: ",").count)
  }
}

@Suite("Capture: what a note says")
struct NoteTests {
  private static let notes: [(String, Note)] = [
    ("-1", .inserted(ColumnMask(first: -1))),
    ("-1, -1", .inserted(ColumnMask(first: -1, rest: [-1]))),
    // Of a row that waited while its table got more columns.
    ("-1, 0", .inserted(ColumnMask(first: -1, rest: [0]))),
    ("0", .written(ColumnMask())), ("5", .written(ColumnMask(first: 5))),
    ("0, 1", .written(ColumnMask(first: 0, rest: [1]))),
    ("(1 << 62) - 1", .written(ColumnMask(first: 1 << 62 - 1))),
    ("NULL", .gone), ("NULL, NULL, NULL", .gone),
    ("'maybe'", .maybeGone), ("'maybe', NULL", .maybeGone),
    ("'moved'", .inserted(ColumnMask(first: -1))),
    ("'moved', NULL", .inserted(ColumnMask(first: -1, rest: [-1]))),
    ("'standing'", .standing), ("'standing', NULL", .standing),
  ]

  @Test(arguments: notes)
  func `each kind is read from its masks`(_ masks: String, _ expected: Note) throws {
    #expect(try note(masks) == expected)
  }

  @Test(arguments: [
    "'gone'", "''", "'Maybe'", "'maybe ' || char(0)", "x'6d61796265'", "0.0", "-2", "1 << 62",
    "1 << 63", "1, NULL", "1, 'maybe'", "-1, 0.5", "0, -2",
  ])
  func `masks that no trigger writes are damage`(_ masks: String) throws {
    let error = try #require(throws: ReplicaError.self) { try note(masks) }
    #expect(error.code == .damaged)
    #expect(error.message == "a table of notes holds a mask that no trigger writes")
  }

  @Test func `a seal that meets such a note leaves all as it was`() throws {
    let device = try Device(SyncSchema(version: 1, tables: [SyncTable("t")]), id: 1) {
      try $0.execute(sql: "CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY, a)")
    }
    try device.execute("INSERT INTO t VALUES ('1', 'a'), ('2', 'b')")
    try device.execute("UPDATE grdb_tern_main_note_1 SET m0 = 'gone' WHERE k0 = '2'")
    #expect(throws: ReplicaError.self) { try device.store.seal() }
    #expect(try device.store.counts().unsealedChanges == 2)
    #expect(try device.store.canonicalState().isEmpty)
    try device.execute("UPDATE grdb_tern_main_note_1 SET m0 = -1")
    #expect(try device.store.seal() == 1..<2)
    #expect(try device.store.canonicalState().count == 2)
  }

  @Test func `columns beyond the first word are named like others`() {
    func column(_ id: Int) -> TableShape.Column {
      .init(name: "c", id: id, rule: .lastWriter, holdsLookalikes: false)
    }
    var mask = ColumnMask(first: 1 << 61)
    #expect(mask.contains(column(61)) && !mask.contains(column(62)))
    let wide = ColumnMask(first: 1, rest: [1, 2])
    #expect(wide.contains(column(62)) && wide.contains(column(125)) && !wide.contains(column(124)))
    #expect(!mask.isSubset(of: wide) && !wide.isSubset(of: mask))
    mask.formUnion(wide)
    #expect(mask.words == [1 << 61 | 1, 1, 2])
    #expect(wide.isSubset(of: mask) && ColumnMask().isSubset(of: wide) && !mask.isEmpty)
  }
}
