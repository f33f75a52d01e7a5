import Foundation
import GRDB
import Tern
import TestDevice
import Testing

/// What waits is told, and is no finding.
@Suite("Doctor: what waits is a remark and no finding")
struct DoctorRemarkTests {
  @Test func `writes that are not sealed are counted`() throws {
    let patient = try Patient()
    try patient.fill()
    try patient.device.execute("UPDATE shelf SET name = 'x'; INSERT INTO tag VALUES ('n', 'n')")
    let diagnosis = try patient.diagnosis()
    #expect(diagnosis.findings == [])
    #expect(diagnosis.remarks.map(\.what) == ["3 writes are in no operation yet"])
  }

  @Test func `rows quarantined are counted by reason, and a reason that fell is found`() throws {
    let patient = try Patient()
    try patient.fill()
    try patient.device.execute("DELETE FROM book; DELETE FROM shelf WHERE id = 's'")
    try patient.peer.execute(
      """
      INSERT INTO book (id, title, shelf) VALUES ('held', 'Ubik', 's'); DELETE FROM book WHERE id = '1';
      INSERT INTO tag VALUES ('late', 'same')
      """)
    try patient.device.execute("INSERT INTO tag VALUES ('early', 'same')")
    try meet(patient.device, patient.peer)
    let heldBy = try patient.device.column("SELECT reason FROM grdb_tern_main_held ORDER BY 1")
    #expect(heldBy == ["orphaned", "unique"])
    #expect(try patient.findings() == [])
    #expect(try patient.remarks() == ["held", "held"])
    for other in ["constraint", "incomplete"] {
      try patient.harm("UPDATE grdb_tern_main_held SET reason = '\(other)' WHERE tbl = 3")
      #expect(try patient.findings() == ["held-reason"])
      try patient.harm("UPDATE grdb_tern_main_held SET reason = 'unique' WHERE tbl = 3")
    }
    try patient.harm("UPDATE grdb_tern_main_held SET reason = 'unique' WHERE tbl = 2")
    #expect(try patient.findings() == ["held-reason"])
    try patient.harm("UPDATE grdb_tern_main_held SET reason = 'because' WHERE tbl = 2")
    #expect(try patient.findings() == ["held-stray"])
  }

  @Test func `a row that CHECK refuses stays held, as SQLite says itself`() throws {
    let patient = try Patient()
    let lenient = try Device(Patient.schema, id: 3) {
      try $0.execute(
        sql: Patient.creation.replacing("CHECK (title <> 'forbidden')", with: ""))
    }
    try lenient.execute("INSERT INTO book (id, title) VALUES ('1', 'forbidden')")
    try meet(patient.device, lenient)
    #expect(try patient.device.column("SELECT reason FROM grdb_tern_main_held") == ["constraint"])
    #expect(try patient.findings() == [])
    #expect(try patient.remarks() == ["held"])
  }

  @Test(arguments: [
    "CREATE INDEX kind ON tag (json_extract(name, '$.k'))",
    "ALTER TABLE tag ADD COLUMN kind AS (json_extract(name, '$.k')); CREATE INDEX kinds ON tag (kind)",
  ])
  func `a row that an index of the app's refuses stays held`(_ sql: String) throws {
    let patient = try Patient()
    try patient.device.execute(sql)
    try patient.peer.execute("INSERT INTO tag VALUES ('x', 'odd')")
    try meet(patient.device, patient.peer)
    #expect(try patient.device.column("SELECT reason FROM grdb_tern_main_held") == ["constraint"])
    #expect(try patient.findings() == [])
    #expect(try patient.remarks() == ["held"])
  }

  @Test func `triggers that a merge goes without, and those that fail in one, are named`() throws {
    let patient = try Patient()
    try patient.device.execute(
      """
      CREATE TABLE seen (id INTEGER PRIMARY KEY);
      CREATE TRIGGER seeing AFTER INSERT ON tag BEGIN INSERT INTO seen VALUES (NEW.id); END;
      CREATE TRIGGER strict BEFORE INSERT ON tag WHEN NEW.name = 'odd' BEGIN
        SELECT RAISE(ABORT, 'no');
      END
      """)
    #expect(try patient.remarks() == ["trigger-skipped"])
    try patient.peer.execute("INSERT INTO tag VALUES ('x', 'odd')")
    try meet(patient.device, patient.peer)
    #expect(try patient.findings() == [])
    #expect(try patient.remarks() == ["trigger-skipped", "trigger-failed"])
  }

  @Test func `a row that such an index takes is found like any other`() throws {
    let patient = try Patient()
    try patient.device.execute("CREATE INDEX kind ON tag (json_extract(name, '$.k'))")
    try patient.peer.execute(#"INSERT INTO tag VALUES ('late', '{"k":1}')"#)
    try patient.device.execute(#"INSERT INTO tag VALUES ('early', '{"k":1}')"#)
    try meet(patient.device, patient.peer)
    #expect(try patient.findings() == [])
    try patient.harm("UPDATE grdb_tern_main_held SET reason = 'constraint'")
    #expect(try patient.findings() == ["held-reason"])
  }

  @Test func `what waits for an upgrade or cannot be read is named with the reason`() throws {
    let patient = try Patient()
    let newer = try Device(
      SyncSchema(version: 4, tables: [SyncTable("shelf", deletes: .updateWins), SyncTable("map")]),
      id: 4
    ) {
      try $0.execute(
        sql: """
          CREATE TABLE shelf (id TEXT NOT NULL PRIMARY KEY, name TEXT, colour TEXT);
          CREATE TABLE map (id TEXT NOT NULL PRIMARY KEY)
          """)
    }
    try newer.execute("INSERT INTO shelf VALUES ('s', 'hall', 'red'); INSERT INTO map VALUES ('m')")
    try meet(patient.device, newer)
    #expect(try patient.findings() == [])
    #expect(try patient.remarks() == ["waiting"])
    try patient.peer.execute("INSERT INTO shelf VALUES ('p', 'hall')")
    try patient.peer.store.seal()
    try patient.device.merge(patient.peer.operationsWithBadEnd().all)
    #expect(try patient.findings() == [])
    #expect(try patient.remarks() == ["waiting", "waiting"])
  }

  @Test func `remotes that disagree, and parts on their way, are named`() throws {
    let patient = try Patient()
    try patient.fill()
    try patient.harm("INSERT INTO grdb_tern_main_fork VALUES ('stick', 1, 1)")
    try Data("part".utf8).write(
      to: URL(filePath: patient.folder + "/app.sqlite-grdb_tern_main_123.parts"))
    let diagnosis = try patient.diagnosis()
    #expect(diagnosis.findings == [])
    #expect(Set(diagnosis.remarks.map(\.check)) == ["fork", "leftover-parts"])
    #expect(diagnosis.remarks.compactMap(\.place.name).contains("stick"))
  }

  @Test func `places in a list that are no keys, doubled or too long are told`() throws {
    let patient = try Patient()
    try patient.fill()
    try patient.device.execute(
      "INSERT INTO book (id, place) VALUES ('a', 'V.k3XbQ0'), ('b', 'somewhere')")
    try patient.device.store.seal()
    #expect(try patient.findings() == [])
    #expect(Set(try patient.remarks()) == ["order-double", "order-text"])
    let long = String(repeating: "V.k3XbQ0", count: 9)
    try patient.device.execute("UPDATE book SET place = '\(long)' WHERE id = 'b'")
    try patient.device.store.seal()
    #expect(try patient.findings() == ["order-long"])
  }

  @Test func `rows too large to travel are counted`() throws {
    let patient = try Patient()
    try patient.fill()
    try patient.device.execute("UPDATE shelf SET name = hex(zeroblob(8 << 20))")
    try patient.device.store.seal()
    #expect(try patient.findings() == [])
    #expect(try patient.remarks() == ["large-rows"])
  }
}
