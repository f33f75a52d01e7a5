import GRDB
import Tern
import TestDevice
import Testing

/// Snapshots that would take a device's clock along, or say something else than the remote was told.
@Suite("Snapshot: snapshots with times ahead, or with false heads")
struct HostileSnapshotTimeTests {
  private static let author = ReplicaID(high: 0, low: 9)
  private static let place = RemotePlace(remoteID: "r", epoch: "e", cursor: nil)
  private static let day: Int64 = 86_400_000
  /// The year 4000, and the end of time.
  private static let ahead = [
    HybridTime(milliseconds: 64_060_588_800_000), HybridTime(rawValue: .max >> 1),
  ]

  /// A device's snapshot, and that.
  private func snapshot() throws -> (author: Device, parts: Parts) {
    let device = try Shelf.device(9)
    try device.commit("INSERT INTO shelf VALUES ('1', 'theirs')")
    try device.commit("INSERT INTO shelf VALUES ('2', 'theirs')")
    return (device, try Parts(of: device))
  }

  private func device(_ id: UInt64 = 1) throws -> Device {
    let device = try Shelf.device(id)
    try device.commit("INSERT INTO shelf VALUES ('mine', 'mine')")
    return device
  }

  /// The snapshot with some part's content changed.
  private func changed(
    _ parts: Parts, _ kind: SnapshotPart.Kind, _ change: ([UInt8]) throws -> [UInt8]
  ) throws -> Parts {
    let result = Parts()
    result.parts = try parts.parts.map { part in
      let content = try SnapshotPart.content(of: part)
      return try content[0] == kind.rawValue ? SnapshotPart.encoded(change(content)) : part
    }
    return result
  }

  private func heading(_ parts: Parts, _ change: (inout SnapshotHeading) -> Void) throws -> Parts {
    try changed(parts, .heading) { content in
      try content.withUnsafeBytes { bytes in
        var reader = ByteReader(bytes)
        _ = try reader.byte("part")
        var heading = try SnapshotHeading(&reader)
        change(&heading)
        var writer = ByteWriter()
        writer.append(byte: SnapshotPart.Kind.heading.rawValue)
        heading.append(to: &writer)
        return writer.bytes
      }
    }
  }

  private func bytes(_ time: HybridTime) -> [UInt8] {
    var writer = ByteWriter()
    writer.append(fixed: time.rawValue)
    return writer.bytes
  }

  /// An operation of the author that waits for something.
  private func waiting(
    _ parts: Parts, _ sequence: UInt64, at time: HybridTime, _ write: (inout ByteWriter) -> Void
  ) throws -> Parts {
    let operation = SyncOperation(
      .init(replica: Self.author, sequence: sequence, time: time, schemaVersion: 1),
      body: [])
    return try changed(parts, .operations) { _ in
      var writer = ByteWriter()
      writer.append(byte: SnapshotPart.Kind.operations.rawValue)
      for field in [0, operation.bytes.count] { writer.append(varint: UInt64(field)) }
      writer.append(raw: operation.bytes)
      write(&writer)
      return writer.bytes
    }
  }

  private func expectRefused(
    _ parts: Parts, location: SourceLocation = #_sourceLocation
  ) throws {
    let device = try device()
    let before = try device.store.canonicalState()
    let error = #expect(throws: SnapshotError.self, sourceLocation: location) {
      try device.load(parts, from: Self.place)
    }
    #expect(error?.code == .timeAhead, sourceLocation: location)
    #expect(try device.store.canonicalState() == before, sourceLocation: location)
    try device.commit("UPDATE shelf SET name = 'later'")
    try expectNow(device, location)
  }

  /// The last own operation has a time of now, and can be read.
  private func expectNow(_ device: Device, _ location: SourceLocation = #_sourceLocation) throws {
    let id = try device.store.replicaID()
    let time = try device.store.operations(lackedBy: VersionVector(), maximumBytes: .max)
      .last { $0.envelope.replica == id }?.envelope.time.milliseconds
    let now = try device.database.read {
      try Int64.fetchOne(
        $0, sql: "SELECT CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)")!
    }
    #expect(abs(try #require(time) - now) < Self.day, sourceLocation: location)
  }

  @Test(arguments: ahead) func `an author's time ahead of all clocks`(_ time: HybridTime) throws {
    try expectRefused(heading(snapshot().parts) { $0.authors[0].time = time })
  }

  @Test(arguments: ahead) func `a row's time ahead of all clocks`(_ time: HybridTime) throws {
    let (author, parts) = try snapshot()
    let row = try #require(try author.store.canonicalState().first)
    try expectRefused(
      changed(parts, .rows) { content in
        guard let range = content.firstRange(of: bytes(row.time)) else { return content }
        var content = content
        content.replaceSubrange(range, with: bytes(time))
        return content
      })
  }

  @Test(arguments: ahead)
  func `a time ahead of an operation that waits for an upgrade`(_ time: HybridTime) throws {
    let parts = try snapshot().parts
    // Of a table, and whole.
    try expectRefused(
      waiting(parts, 1, at: time) {
        $0.append(varint: 1)
        $0.append(string: "elsewhere")
        $0.append(string: "")
        $0.append(byte: 0)
      })
    try expectRefused(
      waiting(parts, 1, at: time) {
        for field: UInt64 in [0, 1, 1] { $0.append(varint: field) }
        $0.append(string: "unreadable")
      })
  }

  @Test func `what waits for the clock may be ahead of it, and moves none`() throws {
    let (time, parts) = (Self.ahead[0], try snapshot().parts)
    let after = try heading(parts) { $0.authors[0] = next($0.authors[0], time) }
    let held = try waiting(after, 3, at: time) {
      for field: UInt64 in [0, 2, 3] { $0.append(varint: field) }
      $0.append(string: "ahead")
    }
    let device = try device()
    try device.load(held, from: Self.place)
    #expect(try device.store.counts().pending[.clock] == 1)
    #expect(try device.column("SELECT name FROM shelf WHERE id = '1'") == ["theirs"])
    try device.commit("UPDATE shelf SET name = 'later'")
    try expectNow(device)
    // And so does a snapshot that this one cuts of it.
    let third = try self.device(3)
    try third.load(Parts(of: device), from: Self.place)
    #expect(try third.column("SELECT name FROM shelf WHERE id = '1'") == ["later"])
    try third.commit("UPDATE shelf SET name = 'last'")
    try expectNow(third)
  }

  private func next(_ author: SnapshotHeading.Author, _ time: HybridTime)
    -> SnapshotHeading.Author
  {
    .init(id: author.id, sequence: author.sequence + 1, time: time)
  }

  @Test func `a space's own times ahead are taken where its remote says so`() throws {
    let (author, parts) = try snapshot()
    let row = try #require(try author.store.canonicalState().first)
    let time = HybridTime(milliseconds: row.time.milliseconds + 400 * Self.day)
    let early = try heading(parts) { $0.authors[0].time = time }
    try expectRefused(early)
    var origin = SnapshotOrigin(place: Self.place)
    origin.nowMilliseconds = time.milliseconds
    let device = try device()
    _ = try device.store.loadSnapshot(from: origin, isRepairing: false) { early.part($0) }
    #expect(try device.column("SELECT name FROM shelf WHERE id = '1'") == ["theirs"])
  }

  /// As where copies of its author wrote on; what is written here then is later still.
  @Test func `a row may be later than its author, and loses to what is written here`() throws {
    let (author, parts) = try snapshot()
    let row = try #require(try author.store.canonicalState().first)
    let late = try changed(parts, .rows) { content in
      guard let range = content.firstRange(of: bytes(row.time)) else { return content }
      var content = content
      let time = HybridTime(milliseconds: row.time.milliseconds + 200_000)
      content.replaceSubrange(range, with: bytes(time))
      return content
    }
    let device = try device()
    try device.load(late, from: Self.place)
    try device.commit("UPDATE shelf SET name = 'later' WHERE id = '1'")
    let own = try device.store.replicaID()
    let shown = try device.store.canonicalState().first { $0.key == ["1"] }
    #expect(shown?.cells["name"]?.author == own && shown?.cells["name"]?.value == "later")
  }

  @Test func `heads that the remote was not told are refused`() throws {
    let (author, parts) = try snapshot()
    let other = ReplicaID(high: 7, low: 7)
    let told = try author.store.versionVector()
    var (more, less, another) = (told, told, told)
    more[Self.author] += 1
    less[Self.author] -= 1
    another[other] = 1
    for heads in [more, less, another] {
      let device = try device()
      var origin = SnapshotOrigin(place: Self.place)
      origin.heads = heads
      #expect(throws: WireError(.malformed, "snapshot's heads")) {
        try device.store.loadSnapshot(from: origin, isRepairing: false) { parts.part($0) }
      }
      #expect(try device.store.versionVector()[Self.author] == 0)
      origin.heads = told
      _ = try device.store.loadSnapshot(from: origin, isRepairing: false) { parts.part($0) }
    }
  }
}
