import GRDB
import Tern
import TernTesting
import Testing

/// A device that is behind the horizon issues again what nobody accepted.
@Suite struct ReissueTests {
  private static let place = RemotePlace(
    remoteID: "peer", epoch: "e", cursor: Cursor(rawValue: "9"))

  /// Two devices that have the same, of which the first forgets what it deletes meanwhile.
  private func devices(_ deletes: DeleteRule = .deleteWins) throws -> (Device, Device) {
    let (a, b) = (try Shelf.device(1, deletes), try Shelf.device(2, deletes))
    try a.execute(
      """
      INSERT INTO book (id, title, scans, tags) VALUES
        ('1', 'one', 1, '["a"]'), ('2', 'two', 2, '["a"]'), ('3', 'three', 3, '[]')
      """)
    try meet(a, b)
    return (a, b)
  }

  private func forget(_ device: Device) throws {
    try device.store.seal()
    let time = try device.database.read {
      try Int64.fetchOne($0, sql: "SELECT last_time FROM grdb_tern_main_replica")!
    }
    try device.store.forgetDeleted(upTo: HybridTime(rawValue: UInt64(time)), at: "peer")
  }

  private func rejoin(_ device: Device, _ parts: Parts) throws -> SnapshotSummary {
    try device.store.loadSnapshot(from: Self.place, reissuingAfter: 0) { parts.part($0) }
  }

  @Test(arguments: [DeleteRule.deleteWins, .updateWins, .lastWriter])
  func `changes to rows that are gone go to the inbox, and the others are issued again`(
    _ deletes: DeleteRule
  ) throws {
    let (a, b) = try devices(deletes)
    try b.execute(
      """
      UPDATE book SET title = 'mine', scans = scans + 7 WHERE id IN ('1', '2');
      UPDATE book SET tags = json_insert(tags, '$[#]', 'b') WHERE id = '2';
      INSERT INTO book (id, title, scans) VALUES ('4', 'four', 4);
      UPDATE book SET scans = 5 WHERE id = '4';
      """)
    try b.store.seal()
    try b.execute(
      "UPDATE book SET title = 'quatre' WHERE id = '4'; DELETE FROM book WHERE id = '3'")
    try a.execute("DELETE FROM book WHERE id = '1'")
    try forget(a)
    let summary = try rejoin(b, try Parts(of: a))
    #expect(summary.mergedAgain == 2 && summary.leftOut == 1)
    try a.pull(from: b)
    try expectSame(a, b, "book")
    #expect(
      try a.column("SELECT id || title || scans || tags FROM book ORDER BY id")
        == [#"2mine9["a","b"]"#, "4quatre5[]"])
    let inbox = try b.database.read { try b.replica.inbox(in: $0) }
    #expect(inbox.map(\.key) == [[.string("1")]])
    #expect(inbox.first?.values == ["title": .string("mine")])
    #expect(inbox.first?.kind == .deleteWins)
  }

  @Test(arguments: [DeleteRule.deleteWins, .updateWins, .lastWriter])
  func `INV-01: a rejoined replica is as one that has not forgotten`(_ deletes: DeleteRule) throws {
    for seed in 0..<30 as Range<UInt64> {
      var generator = SeededGenerator(seed: seed)
      let devices = try (1...3).map { try Shelf.device($0, deletes) }
      func write(_ count: Int, _ device: Device) throws {
        for _ in 0..<count {
          do {
            try Shelf.write(device, using: &generator)
          } catch let error as DatabaseError where error.resultCode == .SQLITE_CONSTRAINT {
            // A shelf with books stays.
          }
        }
      }
      for device in devices { try write(6, device) }
      for one in devices { for other in devices { try one.pull(from: other) } }
      let accepted = try devices[2].store.versionVector()[ReplicaID(high: 0, low: 3)]
      try write(12, devices[0])
      try write(8, devices[2])
      try devices[1].pull(from: devices[0])
      try forget(devices[0])
      let parts = try Parts(of: devices[0])
      _ = try devices[2].store.loadSnapshot(from: Self.place, reissuingAfter: accepted) {
        parts.part($0)
      }
      // And two who forgot nothing, or less.
      let all = devices
      for one in all { for other in all { try one.pull(from: other) } }
      let horizon = try devices[0].store.horizon()
      let states = try all.map { try $0.store.canonicalState().above(horizon) }
      #expect(states[0] == states[1], "seed \(seed)")
      #expect(states[0] == states[2], "seed \(seed)")
      for table in ["shelf", "book", "note"] {
        let columns = table == "book" ? "id, title, scans, best, tags, shelf" : "*"
        let rows = try all.map { try $0.rows("SELECT \(columns) FROM \(table) ORDER BY 1, 2") }
        #expect(rows[0] == rows[1] && rows[0] == rows[2], "seed \(seed), \(table)")
      }
    }
  }

  @Test func `an old write that is issued again beats no newer one, and a delete is of now`() throws
  {
    let (a, b) = try devices()
    try b.execute("UPDATE book SET title = 'old' WHERE id = '1'")
    try b.store.seal()
    try b.execute("DELETE FROM book WHERE id = '3'")
    try b.store.seal()
    try a.execute("UPDATE book SET title = 'new' WHERE id = '1'; DELETE FROM book WHERE id = '2'")
    try forget(a)
    let before = try b.store.operations(lackedBy: VersionVector(), maximumBytes: .max)
      .filter { $0.envelope.replica == ReplicaID(high: 0, low: 2) }
    _ = try rejoin(b, try Parts(of: a))
    let after = try b.store.operations(lackedBy: VersionVector(), maximumBytes: .max)
      .filter { $0.envelope.replica == ReplicaID(high: 0, low: 2) }
    #expect(after.map(\.envelope.sequence) == before.map(\.envelope.sequence))
    #expect(after.first?.envelope.time == before.first?.envelope.time)
    #expect(try #require(after.last).envelope.time > a.store.horizon())
    try a.pull(from: b)
    try expectSame(a, b, "book")
    #expect(try a.column("SELECT title FROM book") == ["new"])
  }

  @Test func `what another remote was offered is not issued again, by name`() throws {
    let (a, b) = try devices()
    try b.execute("UPDATE book SET title = 'x' WHERE id = '1'")
    try b.store.seal()
    _ = try b.store.offer(lackedBy: VersionVector(), maximumBytes: .max, to: "stick")
    let before = try b.store.canonicalState()
    let parts = try Parts(of: a)
    let error = #expect(throws: SnapshotError.self) { try rejoin(b, parts) }
    #expect(error?.code == .offeredElsewhere)
    #expect(try b.store.canonicalState() == before)
  }

  @Test func `what is pushed afterwards says that the snapshot was there`() throws {
    let (a, b) = try devices()
    try b.execute("UPDATE book SET title = 'x' WHERE id = '1'")
    _ = try rejoin(b, try Parts(of: a))
    let standing = try b.store.standing(at: "peer")
    #expect(standing.basis == Self.place.cursor && standing.isSole && standing.isAcknowledged)
  }
}
