#if Server
import TernCore
import TernServer
import Testing

@Suite("Service: trimming, on every store")
struct TrimTests {
  /// Ten operations of Ada's, a snapshot of them, and Bob who has pulled all.
  private func trimmed(_ kind: StoreKind) throws -> (
    StoreUnderTest, SpaceService, Author, [SyncOperation]
  ) {
    let test = try kind.open()
    let service = test.service { $0.retention = .zero }
    var ada = Author(1)
    let operations = ada.write(count: 10, bytes: 50)
    _ = try service.push(operations, to: .home)
    let end = try service.end()
    _ = try service.pull(from: .home, after: end, excluding: Author(2).replica)
    try service.upload(SnapshotOffer(at: end, of: [ada]))
    return (test, service, ada, operations)
  }

  @Test(
    "a pull from before is told to load the snapshot, one after it goes on",
    arguments: StoreKind.allCases)
  func needed(kind: StoreKind) throws {
    var (test, service, ada, _) = try trimmed(kind)
    let greeting = try service.greet(.home)
    #expect(greeting.trimmed == 10)
    let error = refusal { _ = try service.pull(from: .home, after: nil) }
    #expect(error?.code == .snapshotNeeded)
    #expect(error?.now == test.clock.date)
    #expect(
      refusal { _ = try service.pull(from: .home, after: nil, excluding: Author(3).replica) }?.code
        == .snapshotNeeded)
    let new = ada.write("new")
    #expect(try service.push([new], to: .home).position == 11)
    let cursor = try #require(greeting.snapshot?.cursor)
    #expect(try service.pull(from: .home, after: cursor).operations == [new])
  }

  @Test(
    "what was trimmed is still told from other content, and numbers go on",
    arguments: StoreKind.allCases)
  func repeats(kind: StoreKind) throws {
    let (_, service, _, operations) = try trimmed(kind)
    #expect(try service.push(operations, to: .home).accepted == 0)
    var copy = Author(1)
    let other = refusal { _ = try service.push([copy.write("other")], to: .home) }
    #expect(other?.code == .sequenceConflict)
    #expect(other?.sequence == 1)
    #expect(try service.greet(.home).heads == VersionVector([Author(1).replica: 10]))
  }

  @Test("a cursor from before is still checked against the history", arguments: StoreKind.allCases)
  func cursors(kind: StoreKind) throws {
    let (test, service, _, _) = try trimmed(kind)
    let strange = RemoteCursor(rawValue: "\(test.store.epoch).5.0000000000000000")
    #expect(refusal { _ = try service.pull(from: .home, after: strange) }?.code == .cursorUnknown)
  }

  @Test("a space without a snapshot keeps everything", arguments: StoreKind.allCases)
  func none(kind: StoreKind) throws {
    let service = try kind.open().service { $0.retention = .zero }
    var ada = Author(1)
    let operations = ada.write(count: 3)
    _ = try service.push(operations, to: .home)
    #expect(try service.maintain(.home) == false)
    #expect(try everything(service) == operations)
  }

  @Test("bytes go batch by batch, while everything else goes on", arguments: StoreKind.allCases)
  func batches(kind: StoreKind) throws {
    let test = try kind.open()
    var ada = Author(1)
    _ = try test.service().push(ada.write(count: 10, bytes: 100), to: .home)
    try test.service().upload(SnapshotOffer(at: test.service().end(), of: [ada]))
    let byCount = test.service {
      ($0.retention, $0.trimmedAge, $0.trimmedOperations) = (.zero, .zero, 3)
    }
    #expect(try byCount.maintain(.home))
    #expect(try byCount.greet(.home).trimmed == 10)
    #expect(refusal { _ = try byCount.pull(from: .home, after: nil) }?.code == .snapshotNeeded)
    let byBytes = test.service {
      ($0.retention, $0.trimmedAge, $0.trimmedBytes) = (.zero, .zero, 1)
    }
    // Seven are left, one in each call.
    #expect(try maintain(byBytes) == 7)
    #expect(try byBytes.push([ada.write()], to: .home).position == 11)
  }

  @Test("operations stay for the retention, whoever has them", arguments: StoreKind.allCases)
  func retention(kind: StoreKind) throws {
    let test = try kind.open()
    let service = test.service { $0.retention = .seconds(64) }
    var ada = Author(1)
    _ = try service.push(ada.write(count: 2), to: .home)
    try service.upload(SnapshotOffer("a", at: service.end(), of: [ada]))
    test.clock.now += 63_999
    _ = try service.push(ada.write(count: 2), to: .home)
    try service.upload(SnapshotOffer("b", at: service.end(), of: [ada]))
    #expect(try service.greet(.home).trimmed == 0)
    test.clock.now += 1
    try maintain(service)
    #expect(try service.greet(.home).trimmed == 2)
    // Those two are in the older snapshot too: the newer alone would not let them go.
    _ = try service.push(ada.write(count: 2), to: .home)
    test.clock.now += 64_000
    try service.upload(SnapshotOffer("c", at: service.end(), of: [ada]))
    #expect(try service.greet(.home).trimmed == 4)
  }

  @Test("what the older of the kept snapshots is followed by stays", arguments: StoreKind.allCases)
  func older(kind: StoreKind) throws {
    let service = try kind.open().service { $0.retention = .zero }
    var ada = Author(1)
    var cursors: [RemoteCursor] = []
    for round in 0..<2 {
      _ = try service.push(ada.write(count: 2), to: .home)
      cursors.append(try service.end())
      try service.upload(SnapshotOffer("k\(round)", at: cursors[round], of: [ada]))
    }
    #expect(try service.greet(.home).trimmed == 2)
    #expect(try service.pull(from: .home, after: cursors[0]).operations.count == 2)
  }
}
#endif
