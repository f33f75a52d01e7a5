import GRDB
import Tern
import TestDevice
import Testing

/// A column that came with a migration stands in no state until somebody writes it.
@Suite("Doctor: columns that were added")
struct DoctorAddedColumnTests {
  private static let link =
    "CREATE TABLE link (a TEXT NOT NULL, b TEXT NOT NULL, PRIMARY KEY (a, b))"
  private static let added = [
    "ALTER TABLE link ADD COLUMN note TEXT DEFAULT 'new'",
    "ALTER TABLE link ADD COLUMN count INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE link ADD COLUMN tags TEXT NOT NULL DEFAULT '[]'",
    "ALTER TABLE link ADD COLUMN seen INTEGER",
    "ALTER TABLE link ADD COLUMN text TEXT NOT NULL DEFAULT ''",
  ]
  private static let v1 = SyncSchema(version: 1, tables: [SyncTable("link")])
  private static let v2 = SyncSchema(
    version: 2,
    tables: [
      SyncTable(
        "link", merge: ["count": .counter, "tags": .set, "seen": .max, "text": .text])
    ])

  @Test(arguments: [added, [added[0]], [added[1]], [added[2]], [added[3]], [added[4]]])
  func `a table of keys alone is sound once it has more`(_ added: [String]) throws {
    let names = added.map { $0.split(separator: " ")[5] }
    let rules = Self.v2.tables[0].merge.filter { names.contains(Substring($0.key)) }
    let v2 = SyncSchema(version: 2, tables: [SyncTable("link", merge: rules)])
    var a = try Device(DatabaseQueue(), Self.v1, id: 1, migrator: .steps([Self.link]))
    let b = try Device(DatabaseQueue(), Self.v1, id: 2, migrator: .steps([Self.link]))
    try a.execute("INSERT INTO link VALUES ('1', 'x'), ('2', 'y')")
    try meet(a, b)
    try a.execute("DELETE FROM link WHERE a = '2'")
    a = try Device(a.database, v2, id: 1, migrator: .steps([Self.link] + added))
    for id in ["3", "4"] {
      try a.pull(from: b)
      let diagnosis = try a.database.read { try DatabaseDiagnosis($0) }
      #expect(diagnosis.findings.map { "\($0)" } == [])
      try b.execute("INSERT INTO link VALUES ('\(id)', 'z')")
    }
    try a.execute("INSERT OR REPLACE INTO link (a, b) VALUES ('1', 'x'), ('4', 'w')")
    try a.store.seal()
    let diagnosis = try a.database.read { try DatabaseDiagnosis($0) }
    #expect(diagnosis.findings.map { "\($0)" } == [])
  }
}
