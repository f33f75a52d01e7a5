import GRDB
import Tern
import TestDevice
import Testing

@Suite("Snapshot: forks that a snapshot shows")
struct SnapshotForkTests {
  private static let place = RemotePlace(remoteID: "r", epoch: "e", cursor: nil)
  private static let schema = SyncSchema(version: 1, tables: [SyncTable("t")])
  private static let creation = "CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY, a)"

  private func device(_ id: UInt64) throws -> Device {
    try Device(Self.schema, id: id) { try $0.execute(sql: Self.creation) }
  }

  /// Two copies of device 1, and a snapshot of a device that knows the second one. The first one's first
  /// operation is earlier than what that wrote, and its others are later.
  private func copies(_ first: Int, _ second: Int) throws -> (first: Device, parts: Parts) {
    let (copy, other, clock, cutter) = (
      try device(1), try device(1), try device(2), try device(3)
    )
    try copy.commit("INSERT INTO t VALUES ('mine', '')")
    try clock.commit("INSERT INTO t VALUES ('clock', '')")
    try other.pull(from: clock)
    for number in 1...second { try other.commit("INSERT INTO t VALUES ('theirs \(number)', '')") }
    try cutter.pull(from: other)
    try clock.pull(from: cutter)
    try clock.commit("INSERT INTO t VALUES ('later', '')")
    try copy.merge(
      clock.store.operations(
        lackedBy: VersionVector([ReplicaID(high: 0, low: 1): .max]), maximumBytes: .max))
    for number in 1..<first { try copy.commit("INSERT INTO t VALUES ('mine \(number)', '')") }
    return (copy, try Parts(of: cutter))
  }

  @Test(
    "of an author whose copies both wrote, a snapshot says so by the last operation that both have",
    arguments: [(1, 1), (3, 1)])
  func fork(_ first: Int, _ second: Int) throws {
    let (copy, parts) = try copies(first, second)
    let device = try device(4)
    try device.pull(from: copy)
    try device.load(parts, from: Self.place)
    let fork = ReplicaFork(
      remote: "r", replica: ReplicaID(high: 0, low: 1), sequence: UInt64(second))
    #expect(try device.store.counts().forks == [fork])
    // Nothing of that author goes where the other copy is, and nothing is compared with it.
    let offered = try device.store.offer(
      lackedBy: VersionVector(), repeating: [], maximumBytes: .max, to: "r")
    #expect(!offered.contains { $0.envelope.replica == ReplicaID(high: 0, low: 1) })
    #expect(try device.store.stateReport(at: "r", merged: device.store.versionVector()) == nil)
  }

  @Test func `one that lacks operations loses none to it, and one that has the same has no fork`()
    throws
  {
    let (copy, parts) = try copies(1, 2)
    let behind = try device(4)
    try behind.pull(from: copy)
    let before = try behind.store.canonicalState()
    let error = #expect(throws: SnapshotError.self) { try behind.load(parts, from: Self.place) }
    #expect(error?.code == .takesAway)
    #expect(try behind.store.canonicalState() == before)
    let again = try device(5)
    try again.load(parts)
    try again.load(parts, from: Self.place)
    #expect(try again.store.counts().forks.isEmpty)
  }

  @Test(
    "what is here of such an author stays, also where it is earlier than the snapshot's",
    arguments: [1, 2])
  func earlier(_ second: Int) throws {
    let (mine, theirs, clock, cutter) = (
      try device(1), try device(1), try device(2), try device(3)
    )
    for number in 1...3 { try mine.commit("INSERT INTO t VALUES ('mine \(number)', '')") }
    // Later than all that, also within one millisecond.
    for number in 1...9 { try clock.commit("INSERT INTO t VALUES ('clock \(number)', '')") }
    try theirs.pull(from: clock)
    for number in 1...second { try theirs.commit("INSERT INTO t VALUES ('theirs \(number)', '')") }
    try cutter.pull(from: theirs)
    let device = try device(4)
    try device.pull(from: mine)
    try device.load(Parts(of: cutter), from: Self.place)
    let author = ReplicaID(high: 0, low: 1)
    #expect(
      try device.store.counts().forks == [
        ReplicaFork(remote: "r", replica: author, sequence: UInt64(second))
      ])
    let ids = try device.column("SELECT id FROM t ORDER BY id")
    #expect(ids.contains("clock 9") && ids.contains("mine 3") && ids.contains("theirs 1"))
    #expect(try device.store.versionVector()[author] == 3)
    // And what it wrote after that, from where the same copy is known.
    try mine.commit("INSERT INTO t VALUES ('mine 4', '')")
    try device.pull(from: mine)
    #expect(try device.column("SELECT id FROM t WHERE id = 'mine 4'") == ["mine 4"])
    try expectHealthy(device)
  }

  @Test func `one with another operation of this replica is refused by name`() throws {
    let (mine, theirs, clock) = (try device(1), try device(1), try device(2))
    try mine.commit("INSERT INTO t VALUES ('mine', '')")
    try clock.commit("INSERT INTO t VALUES ('clock', '')")
    try theirs.pull(from: clock)
    try theirs.commit("INSERT INTO t VALUES ('theirs', '')")
    let parts = try Parts(of: theirs)
    let error = #expect(throws: MergeError.self) { try mine.load(parts, from: Self.place) }
    #expect(error?.code == .foreignOwn && error?.sequence == 1)
    #expect(try mine.column("SELECT id FROM t") == ["mine"])
  }
}
