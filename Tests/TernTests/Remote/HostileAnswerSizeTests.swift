import Tern
import TernTesting
import Testing

/// What a server's answers may hold: as much as each limit says is taken, and a byte or one thing more
/// is refused by name, with nothing of the answer merged.
@Suite("Remote: how much an answer may hold", .timeLimit(.minutes(5)))
struct HostileAnswerSizeTests {
  /// An operation of exactly so many bytes: a blob in a table that nobody has.
  private static func operation(_ forger: inout Forger, byteCount: Int) -> SyncOperation {
    func make(_ forger: inout Forger, _ count: Int) -> SyncOperation {
      forger.row(
        Forger.packed(.blob([UInt8](repeating: 1, count: count))), of: "elsewhere")
    }
    var probe = forger
    let rough = byteCount - 128
    let missing = byteCount - make(&probe, rough).bytes.count
    return make(&forger, rough + missing)
  }

  private static func content(_ operations: [SyncOperation]) -> [UInt8] {
    var writer = ByteWriter()
    for operation in operations {
      writer.append(byte: 0)
      writer.append(varint: UInt64(operation.bytes.count))
      writer.append(raw: operation.bytes)
    }
    return writer.bytes
  }

  private func takes(
    _ batch: [UInt8], _ count: Int, location: SourceLocation = #_sourceLocation
  ) async throws {
    let meeting = try await HostileMeeting(.sqlite)
    try await meeting.sync(with: HostileTransport(batch: batch).remote)
    #expect(
      try meeting.store.versionVector()[Forger.id] == UInt64(count), sourceLocation: location)
    #expect(try meeting.store.counts().pending[.unreadable] == 0, sourceLocation: location)
    try await meeting.checkIntact(location: location)
  }

  @Test func `operations of a batch`() async throws {
    var forger = Forger()
    let full = (0..<OperationBatch.Limit.operations).map { _ in forger.write() }
    try await takes(OperationBatch(full).encoded(), full.count)
    try await HostileMeeting.refuses(
      OperationBatch(full + [forger.write()]).encoded(), "batch is over its limit")
  }

  @Test func `bytes of a batch`() async throws {
    // The second fills what the first leaves.
    func content(_ byteCount: Int) -> [UInt8] {
      var forger = Forger()
      let first = Self.operation(&forger, byteCount: SyncOperation.Limit.bytes)
      let rest = byteCount - Self.content([first]).count
      let heading = Self.content([first, first]).count / 2 - first.bytes.count
      return Self.content([first, Self.operation(&forger, byteCount: rest - heading)])
    }
    let (full, over) = (
      content(OperationBatch.Limit.bytes), content(OperationBatch.Limit.bytes + 1)
    )
    #expect(full.count == OperationBatch.Limit.bytes && over.count == full.count + 1)
    try await takes(HostileTransport.frame(count: 2, full), 2)
    try await HostileMeeting.refuses(
      HostileTransport.frame(count: 2, over), "batch is over its limit")
  }

  @Test func `bytes of an answer, whatever is in it`() async throws {
    let rest = [UInt8](repeating: 0, count: OperationBatch.Limit.bytes)
    var answer = HostileTransport.frame(count: 0, rest)
    answer += [UInt8](repeating: 0, count: OperationBatch.Limit.bytes + 64 - answer.count)
    try await HostileMeeting.refuses(answer, "the server's batch can't be read")
    try await HostileMeeting.refuses(
      answer + [0], "the limit of \(OperationBatch.Limit.bytes + 64)")
  }

  @Test func `bytes of an operation`() async throws {
    var (forger, liar) = (Forger(), Forger())
    let full = Self.operation(&forger, byteCount: SyncOperation.Limit.bytes)
    let over = Self.operation(&liar, byteCount: SyncOperation.Limit.bytes + 1)
    #expect(full.bytes.count == SyncOperation.Limit.bytes)
    #expect(over.bytes.count == SyncOperation.Limit.bytes + 1)
    try await takes(OperationBatch([full]).encoded(), 1)
    try await HostileMeeting.refuses(
      OperationBatch([over]).encoded(), "operation is over its limit")
  }

  @Test func `replicas that an operation's author had seen`() async throws {
    func operation(_ count: Int) -> SyncOperation {
      let seen = (0..<UInt64(count)).map { (ReplicaID(high: 7, low: $0), UInt64(1)) }
      var forger = Forger(seen: VersionVector(Dictionary(uniqueKeysWithValues: seen)))
      return forger.row(Forger.packed("good"))
    }
    try await takes(OperationBatch([operation(SyncOperation.Limit.seen)]).encoded(), 1)
    try await HostileMeeting.refuses(
      OperationBatch([operation(SyncOperation.Limit.seen + 1)]).encoded(),
      "seen count is over its limit")
  }

  @Test func `bytes of a greeting`() async throws {
    func greeting(_ byteCount: Int) -> String {
      let document = HostileTransport(batch: []).greeting
      return document + String(repeating: " ", count: byteCount - document.utf8.count)
    }
    let limit = 16 << 20
    let meeting = try await HostileMeeting(.sqlite)
    let full = HostileTransport(batch: OperationBatch([]).encoded(), greeting: greeting(limit))
    try await meeting.sync(with: full.remote)
    let over = HostileTransport(batch: OperationBatch([]).encoded(), greeting: greeting(limit + 1))
    let error = await #expect(throws: RemoteError.self) {
      try await meeting.sync(with: over.remote)
    }
    #expect(error?.code == .unexpectedAnswer)
    try await meeting.checkIntact()
  }

  @Test func `bytes of a part of a snapshot`() async throws {
    let full = [UInt8](repeating: 7, count: SnapshotPart.Limit.bytes)
    let remote = HostileTransport(batch: full).remote
    #expect(try await remote.snapshotPart(0, of: "s").count == full.count)
    let error = await #expect(throws: RemoteError.self) {
      try await HostileTransport(batch: full + [7]).remote.snapshotPart(0, of: "s")
    }
    #expect(error?.code == .unexpectedAnswer)
    #expect(error?.message.contains("\(SnapshotPart.Limit.bytes)") == true)
  }
}
