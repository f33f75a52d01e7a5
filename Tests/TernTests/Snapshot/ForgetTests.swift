import GRDB
import Tern
import TernTesting
import Testing

/// What a replica forgets below a horizon, and what it may not.
@Suite struct ForgetTests {
  /// Up to when everything that a device has written and merged is.
  private func now(_ device: Device) throws -> HybridTime {
    try device.database.read {
      HybridTime(
        rawValue: UInt64(
          try Int64.fetchOne($0, sql: "SELECT last_time FROM grdb_tern_main_replica")!))
    }
  }

  private func states(_ device: Device) throws -> Int {
    try device.database.read { db in
      let tables = try String.fetchAll(
        db, sql: "SELECT name FROM sqlite_master WHERE name GLOB 'grdb_tern_main_row*'")
      return try tables.reduce(0) {
        try $0 + Int.fetchOne(db, sql: "SELECT count(*) FROM \($1)")!
      }
    }
  }

  @Test(arguments: [DeleteRule.deleteWins, .updateWins, .lastWriter])
  func `what was deleted up to the horizon is forgotten, and nothing else`(_ deletes: DeleteRule)
    throws
  {
    let (a, b) = (try Shelf.device(1, deletes), try Shelf.device(2, deletes))
    try a.execute("INSERT INTO book (id, title) VALUES ('1', 'x'), ('2', 'y'), ('3', 'z')")
    try a.store.seal()
    try a.execute("DELETE FROM book WHERE id = '1'")
    try meet(a, b)
    let horizon = try now(a)
    try a.execute("DELETE FROM book WHERE id = '2'")
    try meet(a, b)
    #expect(try states(a) == 3)
    try a.store.forgetDeleted(upTo: horizon, at: "peer")
    #expect(try states(a) == 2)
    #expect(try a.store.horizon() == horizon)
    let kept = try a.database.read {
      try Int.fetchOne($0, sql: "SELECT count(*) FROM grdb_tern_main_kept")
    }
    #expect(kept == (deletes == .deleteWins ? 0 : 1))
    // INV-01: the other has not forgotten, and is the same above the horizon.
    let whole = try b.store.canonicalState()
    #expect(try a.store.canonicalState() != whole)
    #expect(try a.store.canonicalState().above(horizon) == whole.above(horizon))
    // Once more finds nothing.
    try a.store.forgetDeleted(upTo: horizon, at: "peer")
    #expect(try states(a) == 2)
  }

  @Test(arguments: [DeleteRule.deleteWins, .updateWins, .lastWriter])
  func `a forgotten key that is inserted again is a new row, also where it is not forgotten`(
    _ deletes: DeleteRule
  ) throws {
    let devices = try (1...3).map { try Shelf.device($0, deletes) }
    let (a, b) = (devices[0], devices[1])
    try a.execute("INSERT INTO book (id, title, scans) VALUES ('1', 'old', 5)")
    try a.store.seal()
    try a.execute("DELETE FROM book")
    for other in devices { try other.pull(from: a) }
    try a.store.forgetDeleted(upTo: try now(a), at: "peer")
    #expect(try states(a) == 0)
    try a.execute("INSERT INTO book (id, title, scans) VALUES ('1', 'new', 1)")
    // A row that never was begins behind those lives too, and meets one that does not.
    try a.execute("INSERT INTO book (id, title, scans) VALUES ('2', 'two', 1)")
    try b.execute("INSERT INTO book (id, title, scans) VALUES ('2', 'deux', 1)")
    for one in devices { for other in devices { try one.pull(from: other) } }
    for other in devices { try expectSame(other, a, "book") }
    #expect(try a.column("SELECT title || scans FROM book WHERE id = '1'") == ["new1"])
    try b.execute("UPDATE book SET scans = scans + 1")
    for other in devices { try other.pull(from: b) }
    #expect(try a.column("SELECT scans FROM book WHERE id = '1'") == ["2"])
  }

  @Test func `more than one transaction's worth goes, whatever the keys`() throws {
    let a = try Shelf.device(1, .updateWins)
    try a.execute(
      """
      WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2500)
      INSERT INTO note SELECT 'k' || (i % 50), i, 'x' FROM n;
      INSERT INTO shelf SELECT 's' || b, 'y' FROM note
      """)
    try a.store.seal()
    try a.execute("DELETE FROM note WHERE b > 10; DELETE FROM shelf WHERE id <> 's7'")
    try a.store.seal()
    try a.store.forgetDeleted(upTo: try now(a), at: "server")
    #expect(try states(a) == 11)
    #expect(try a.store.canonicalState().count == 11)
  }

  @Test func `nothing is forgotten while a group is put aside, or where another remote was`() throws
  {
    let (a, b) = (try Shelf.device(1), try Shelf.device(2))
    try a.execute("INSERT INTO shelf VALUES ('1', 'a')")
    try a.store.seal()
    try a.execute("DELETE FROM shelf")
    try meet(a, b)
    let horizon = try now(a)
    // Both have "peer" for a remote.
    try a.store.forgetDeleted(upTo: horizon, at: "another")
    #expect(try states(a) == 1 && a.store.horizon() == .zero)
    let unreadable = Operation(
      .init(replica: ReplicaID(high: 0, low: 9), sequence: 1, time: horizon), body: [1, 2, 3])
    _ = try b.store.merge(
      PulledPage(
        operations: [unreadable], cursor: Cursor(rawValue: "2"), hasMore: false,
        nowMilliseconds: 0), from: RemotePlace(remoteID: "peer", epoch: "e", cursor: nil))
    try b.store.forgetDeleted(upTo: horizon, at: "peer")
    #expect(try states(b) == 1 && b.store.horizon() == .zero)
  }

  @Test func `a snapshot says what its maker forgot, and whoever loads it goes on from there`()
    throws
  {
    let (a, b) = (try Shelf.device(1), try Shelf.device(2))
    try a.execute("INSERT INTO shelf VALUES ('1', 'a'), ('2', 'b')")
    try a.store.seal()
    try a.execute("DELETE FROM shelf WHERE id = '1'")
    try a.store.seal()
    try a.store.forgetDeleted(upTo: try now(a), at: "peer")
    try b.load(try Parts(of: a))
    #expect(try b.store.horizon() == a.store.horizon())
    try b.execute("INSERT INTO shelf VALUES ('1', 'again')")
    try a.pull(from: b)
    try expectSame(a, b, "shelf")
    let life = try b.store.canonicalState().first { $0.key == [.string("1")] }?.life
    #expect(life == 3)
  }
}
