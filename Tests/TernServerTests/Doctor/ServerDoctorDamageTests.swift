#if Server
import Foundation
import GRDB
import Tern
import Testing

@testable import TernServer

/// Each test breaks one thing in a server's file, and sees that and nothing else.
@Suite("Doctor: every kind of damage to a server's file")
struct ServerDoctorDamageTests {
  private static let home = "(SELECT id FROM space WHERE name = 'home')"
  private static let work = "(SELECT id FROM space WHERE name = 'work')"
  private static func hex(_ replica: ReplicaID) -> String { "x'\(replica)'" }
  private static let (ada, bob, eve) = (
    hex(ServerPatient.ada), hex(ServerPatient.bob), hex(ServerPatient.eve)
  )
  /// The newest whole snapshot of `home`.
  private static let newest = "space = \(home) AND is_complete AND position = 8"

  static let damages: [(sql: String, found: [String])] = [
    // The file.
    ("UPDATE token SET space = 77 WHERE space = \(work)", ["sqlite-references"]),
    (
      """
      CREATE TABLE other (a, b); INSERT INTO other VALUES (1, 2);
      CREATE INDEX extra ON other (a); PRAGMA writable_schema = ON;
      UPDATE sqlite_master SET sql = 'CREATE INDEX extra ON other (b)' WHERE name = 'extra'
      """, ["sqlite-integrity"]
    ),
    // A server's tables.
    ("PRAGMA user_version = \(ServerFile.formatVersion + 1)", ["newer-format"]),
    ("PRAGMA user_version = 3", ["server-format"]),
    ("PRAGMA user_version = 0", ["server-format"]),
    ("DROP TABLE mark", ["server-table"]),
    ("ALTER TABLE lease RENAME COLUMN at_ms TO since", ["server-table"]),
    (
      """
      DROP TABLE mark; CREATE TABLE mark (space INTEGER NOT NULL, position INTEGER NOT NULL,
        at_ms INTEGER NOT NULL, PRIMARY KEY (space, position)) WITHOUT ROWID
      """, ["server-table"]
    ),
    ("DELETE FROM store", ["epoch"]),
    ("INSERT INTO store SELECT epoch FROM store", ["epoch"]),
    ("UPDATE store SET epoch = 'x'", ["epoch"]),
    ("UPDATE space SET epoch = 'x' WHERE name = 'work'", ["epoch", "snapshot-cursor"]),
    ("UPDATE space SET phase = 5 WHERE name = 'work'", ["number"]),
    ("UPDATE token SET digest = x'00' WHERE space = \(work)", ["token"]),
    ("UPDATE space SET name = 'no name' WHERE name = 'home'", ["space"]),
    ("UPDATE space SET trimmed = 4 WHERE name = 'home'", ["space"]),
    ("UPDATE space SET trimmed = 99 WHERE name = 'home'", ["space"]),
    ("UPDATE space SET emptied = -1 WHERE name = 'work'", ["number"]),
    ("UPDATE space SET bytes = bytes + 1 WHERE name = 'work'", ["space-bytes"]),
    // Positions.
    ("DELETE FROM operation WHERE space = \(home) AND position = 1", ["position-gap"]),
    ("DELETE FROM operation WHERE space = \(home) AND position = 7", ["position-gap"]),
    ("DELETE FROM operation WHERE space = \(home) AND position = 9", ["position-gap"]),
    ("UPDATE space SET position = 10 WHERE name = 'home'", ["position-gap"]),
    ("UPDATE space SET position = 3 WHERE name = 'work'", ["position-beyond"]),
    (
      "UPDATE operation SET position = 0 WHERE space = \(work) AND position = 4",
      ["position-beyond", "position-gap"]
    ),
    (
      """
      INSERT INTO operation (space, position, author, sequence, digest, chain, bytes)
      SELECT space, 4503599627370496, author, 77, digest, chain, bytes FROM operation
      WHERE space = \(home) AND position = 7
      """, ["position-beyond"]
    ),
    // Operations.
    (
      "UPDATE operation SET digest = zeroblob(32) WHERE space = \(home) AND position = 7",
      ["operation-digest"]
    ),
    ("UPDATE operation SET bytes = x'01' WHERE position = 7", ["operation-digest"]),
    (
      "UPDATE operation SET digest = zeroblob(32) WHERE space = \(home) AND position = 2",
      ["operation-chain"]
    ),
    ("UPDATE operation SET chain = x'' WHERE position = 7", ["operation-chain"]),
    ("UPDATE operation SET bytes = x'' WHERE position = 7", ["operation-lost"]),
    (
      """
      UPDATE operation SET bytes = (SELECT bytes FROM operation WHERE position = 7)
      WHERE space = \(home) AND position = 2
      """, ["operation-left"]
    ),
    ("UPDATE operation SET author = \(eve) WHERE position = 7", ["operation-mismatch"]),
    ("UPDATE operation SET author = x'09' WHERE position = 7", ["operation-mismatch"]),
    (
      "UPDATE operation SET author = x'09' WHERE space = \(home) AND position = 2",
      ["operation-mismatch", "operation-gap"]
    ),
    ("UPDATE operation SET sequence = 77 WHERE position = 7", ["operation-mismatch"]),
    (
      "UPDATE operation SET sequence = 77 WHERE space = \(home) AND position = 3",
      ["operation-gap"]
    ),
    // Heads.
    (
      "UPDATE head SET sequence = sequence + 1 WHERE space = \(home) AND author = \(ada)",
      ["head"]
    ),
    ("UPDATE head SET sequence = 0 WHERE space = \(home) AND author = \(bob)", ["head"]),
    ("UPDATE head SET sequence = 6 WHERE space = \(work) AND sequence = 7", ["head"]),
    ("UPDATE head SET time = 1 WHERE space = \(home)", ["head"]),
    ("UPDATE head SET continues = 1 - continues WHERE space = \(home)", ["head"]),
    ("DELETE FROM head WHERE space = \(home) AND author = \(bob)", ["head"]),
    ("UPDATE head SET author = x'00' WHERE space = \(home) AND author = \(bob)", ["head"]),
    ("INSERT INTO head VALUES (\(home), \(eve), 1, 1, 0, 0, 0)", ["head"]),
    // Bases.
    ("UPDATE operation SET sequence = -5 WHERE space = \(work) AND position = 1", ["base"]),
    ("UPDATE snapshot SET name = NULL WHERE is_base", ["base"]),
    ("UPDATE space SET released = trimmed + 1 WHERE name = 'home'", ["space"]),
    ("UPDATE space SET kept_bytes = kept_bytes + 1 WHERE name = 'home'", ["space-bytes"]),
    ("UPDATE head SET bytes = bytes + 1 WHERE space = \(work)", ["space-bytes"]),
    ("UPDATE head SET operations = operations + 1 WHERE space = \(work)", ["space-bytes"]),
    ("INSERT INTO trim_mark SELECT id, 9, 0 FROM space WHERE name = 'home'", ["mark"]),
    ("UPDATE snapshot SET name = 'other' WHERE is_base", ["base"]),
    // Snapshots.
    ("UPDATE snapshot SET name = NULL WHERE space = \(home) AND is_complete", ["trimmed-lost"]),
    ("UPDATE space SET trimmed = 8 WHERE name = 'home'", ["trimmed-lost"]),
    ("UPDATE snapshot SET cursor = 'x' WHERE \(newest)", ["snapshot-cursor"]),
    ("UPDATE snapshot SET position = 99 WHERE NOT is_complete", ["snapshot-cursor"]),
    ("UPDATE snapshot SET position = -1 WHERE NOT is_complete", ["number"]),
    ("UPDATE snapshot SET heads = x'00' WHERE \(newest)", ["snapshot-heads"]),
    ("UPDATE snapshot SET heads = x'' WHERE \(newest)", ["snapshot-heads"]),
    (
      """
      UPDATE snapshot SET heads =
        CAST(heads || (SELECT heads FROM snapshot WHERE is_base) AS BLOB) WHERE \(newest)
      """, ["snapshot-heads"]
    ),
    (
      """
      UPDATE snapshot SET heads = CAST(substr(heads, 1, length(heads) - 8) || zeroblob(8) AS BLOB)
      WHERE \(newest)
      """, ["snapshot-heads"]
    ),
    ("UPDATE snapshot SET schema = 'x' WHERE \(newest)", ["snapshot-schema"]),
    ("UPDATE snapshot_part SET bytes = x'00' WHERE part = 1", ["snapshot-part"]),
    ("UPDATE snapshot_part SET digest = x'00' WHERE part = 0", ["snapshot-part"]),
    ("UPDATE snapshot_part SET part = 9 WHERE part = 0", ["snapshot-part"]),
    (
      """
      DELETE FROM snapshot_part WHERE part = 1 AND snapshot IN (SELECT id FROM snapshot
        WHERE is_complete)
      """, ["snapshot-part"]
    ),
    ("UPDATE snapshot SET parts = parts + 1 WHERE \(newest)", ["snapshot-part"]),
    ("UPDATE snapshot SET bytes = 0 WHERE NOT is_complete", ["snapshot-part"]),
    // The horizon, and what replicas reported.
    ("UPDATE lease SET position = 99 WHERE space = \(home)", ["lease"]),
    ("UPDATE lease SET position = -1 WHERE space = \(home)", ["number"]),
    ("UPDATE lease SET replica = x'00' WHERE space = \(home)", ["lease"]),
    // Whose the replica ids are.
    ("UPDATE author SET brought_last = NULL WHERE replica = \(bob)", ["author"]),
    ("UPDATE author SET brought_last = 99 WHERE replica = \(bob)", ["author"]),
    ("UPDATE author SET banned_after = 1 WHERE replica = \(bob)", ["author"]),
    ("UPDATE author SET banned_after = -1 WHERE replica = \(bob)", ["number"]),
    ("UPDATE author SET replica = x'00' WHERE member = 'eve'", ["author"]),
    ("UPDATE mark SET position = 99 WHERE space = \(home) AND position = 8", ["mark"]),
    ("INSERT INTO mark VALUES (\(home), 1, 9000000)", ["mark"]),
    ("UPDATE state SET report = x'00'", ["state-report"]),
    ("UPDATE state SET position = 8", ["state-report"]),
    ("UPDATE state SET position = 99", ["state-report"]),
  ]

  @Test(arguments: damages.indices)
  func `damage is found by its name, and nothing else is`(_ index: Int) throws {
    let patient = try ServerPatient()
    #expect(try patient.diagnosis().findings.map { "\($0)" } == [])
    let (sql, found) = Self.damages[index]
    try patient.harm(sql)
    let diagnosis = try patient.diagnosis()
    #expect(Set(diagnosis.findings.map(\.check)) == Set(found), "\(sql): \(diagnosis.findings)")
    let ofFile = ["sqlite", "newer", "server", "epoch", "token"]
    for finding in diagnosis.findings {
      #expect(!finding.remedy.isEmpty)
      #expect(finding.place.space != nil || ofFile.contains { finding.check.hasPrefix($0) })
    }
  }

  // MARK: - What a store would take, and the service does not

  private func append(
    _ operation: SyncOperation, _ patient: ServerPatient, to space: SpaceName = .work
  ) throws {
    let own = operation.envelope
    let head = AuthorHead(sequence: own.sequence, time: own.time, continues: own.continues)
    try patient.store.update(space) {
      _ = try $0.append([NewOperation(operation)], heads: [own.replica: head])
    }
  }

  @Test func `a number that does not follow is found`() throws {
    let patient = try ServerPatient()
    var fay = patient.fay
    fay.sequence += 2
    try append(fay.fragment(), patient)
    #expect(try patient.findings() == ["operation-gap"])
    // Behind a base an author may go on further up, and then the base's snapshot says from where.
    var gil = Author(7)
    gil.sequence = 1
    let second = gil.write()
    for (space, found) in [(SpaceName.work, "snapshot-heads"), (.home, "operation-gap")] {
      let other = try ServerPatient()
      try append(second, other, to: space)
      #expect(try other.findings() == [found])
    }
  }

  @Test func `a time that is not later, and another one in a group, are found`() throws {
    let patient = try ServerPatient()
    var fay = patient.fay
    try append(fay.write("the group's end"), patient)
    #expect(try patient.findings() == ["operation-time"])

    let other = try ServerPatient()
    fay = other.fay
    try append(fay.fragment(), other)
    #expect(try other.findings() == [])
    try append(fay.fragment(), other)
    #expect(try other.findings() == ["operation-time"])
  }

  @Test func `bytes that are no operation are found, under the right digest`() throws {
    let patient = try ServerPatient()
    var eve = Author(8)
    try append(eve.write(), patient)
    let before = try patient.store.update(.work) { try $0.chain(at: $0.position - 1) }
    let bytes = [0xFF] as [UInt8]
    let digest = OperationDigest(stored: PartDigest(part: bytes).bytes)
    let chain = ChainDigest(after: before, digest)
    try patient.harm(
      """
      UPDATE operation SET bytes = x'FF', digest = x'\(digest.bytes.hexadecimal)',
        chain = x'\(chain.bytes.hexadecimal)' WHERE space = \(Self.work) AND position = 5
      """)
    #expect(try patient.findings() == ["operation-damaged"])
  }
}
#endif
