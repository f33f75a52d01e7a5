#if Server
import TernCore
import TernServer
import TernTesting
import Testing

@Suite("Service: snapshots that are not what they say, on every store")
struct RefusedOfferTests {
  /// Uploads parts under an offer.
  private func upload(
    _ parts: [[UInt8]], as offer: SnapshotOffer, _ service: SpaceService
  ) throws -> RemoteError? {
    let id = try service.beginSnapshot(offer, in: .home).id
    for (index, part) in parts.enumerated() {
      try service.putSnapshotPart(part, index: index, of: id, in: .home)
    }
    return refusal { try service.completeSnapshot(id, in: .home) }
  }

  enum Flaw: CaseIterable {
    case noise, withoutEnd, otherHeads, endTwice, otherRowCount, unknownAuthor
  }

  private func parts(_ flaw: Flaw, of offer: SnapshotOffer) throws -> [[UInt8]] {
    var parts = try offer.partsWithoutRows()
    switch flaw {
    case .noise: parts[0] = Array("noise, of which nobody makes sense".utf8)
    case .withoutEnd: parts[1] = try SnapshotPart.encoded([SnapshotPart.Kind.seen.rawValue])
    case .otherHeads:
      var other = offer
      for author in other.heads.keys { other.heads[author]?.sequence -= 1 }
      parts = try other.partsWithoutRows()
    case .endTwice: parts[0] = parts[1]
    case .otherRowCount: parts[1] = try SnapshotPart.encoded([SnapshotPart.Kind.end.rawValue, 1])
    case .unknownAuthor:
      parts[1] = try SnapshotPart.encoded([SnapshotPart.Kind.seen.rawValue, 0, 9, 1])
    }
    return parts
  }

  @Test(
    "INV-03: one that can't be loaded is refused, and nothing is trimmed for it",
    arguments: StoreKind.allCases, Flaw.allCases)
  func flawed(kind: StoreKind, flaw: Flaw) throws {
    for isBase in [false, true] { try check(kind, flaw, isBase: isBase) }
  }

  private func check(_ kind: StoreKind, _ flaw: Flaw, isBase: Bool) throws {
    let test = try kind.open()
    let service = test.service { $0.retention = .zero }
    var ada = Author(1)
    let operations = ada.write(count: 4)
    _ = try service.push(operations, to: .home)
    var bob = Author(2)
    if isBase { _ = bob.write() }
    let authors = isBase ? [ada, bob] : [ada]
    let offer = SnapshotOffer(at: try service.end(), of: authors, isBase: isBase)
    let error = try upload(parts(flaw, of: offer), as: offer, service)
    #expect(error?.code == .snapshotRefused)
    #expect(error?.message.contains("tern snapshot accept") == true)
    // Nobody uploads the same again.
    #expect(service.refusalOf(offer) == .snapshotRefused)
    try maintain(service)
    let greeting = try service.greet(.home)
    #expect((greeting.snapshot, greeting.trimmed) == (nil, 0))
    #expect(try everything(service) == operations)
    // Another one is taken.
    var right = offer
    right.key = "right"
    #expect(try upload(right.partsWithoutRows(), as: right, service) == nil)
    #expect(try service.greet(.home).snapshot != nil)
  }

  @Test("INV-03: parts that were put in place of those that are checked are not taken")
  func swapped() throws {
    var generator = SeededGenerator(state: 1)
    let memory = MemorySpaceStore(using: &generator)
    let clock = HandClock()
    let service = SpaceService(store: memory, clock: clock.clock)
    var ada = Author(1)
    _ = try service.push(ada.write(count: 4), to: .home)
    let end = try service.end()
    let offer = SnapshotOffer(at: end, of: [ada])
    let authors = [ada]
    // While the log is read, the upload gives way to two others and comes again.
    let store = FailingStore(memory) { _ in
    } onPage: { space in
      for key in ["b", "c"] {
        clock.now += 1
        _ = try service.beginSnapshot(SnapshotOffer(key, at: end, of: authors), in: space)
      }
      let id = try service.beginSnapshot(offer, in: space).id
      for index in 0..<2 { try service.putSnapshotPart([7], index: index, of: id, in: space) }
    }
    let checking = SpaceService(store: store, clock: clock.clock)
    let error = try upload(offer.partsWithoutRows(), as: offer, checking)
    #expect(error?.code == .snapshotUnknown)
    #expect(try service.greet(.home).snapshot == nil)
    // And nothing is said of what came again.
    #expect(try service.snapshots(of: .home).allSatisfy { $0.refusal == nil })
  }

  @Test(
    "INV-03: an operation that only a base stands for is not made up", arguments: StoreKind.allCases
  )
  func madeUp(kind: StoreKind) throws {
    let service = try kind.open().service()
    var (ada, bob) = (Author(1), Author(2))
    _ = ada.write(count: 5)
    try service.upload(SnapshotOffer("base", at: nil, of: [ada], isBase: true))
    _ = try service.push([bob.write()], to: .home)
    // The heads are right, and the content begins before the author's last, which is carried along.
    let offer = SnapshotOffer("lie", at: try service.end(), of: [ada, bob], parts: 3)
    var behind = offer
    behind.heads[ada.replica] = SnapshotHead(
      sequence: 4, time: HybridTime(milliseconds: 1))
    var parts = try behind.partsWithoutRows()
    let envelope = SyncOperation.Envelope(
      replica: ada.replica, sequence: 5, time: ada.time, continues: true)
    let operation = SyncOperation(envelope, body: [])
    var content = ByteWriter()
    content.append(byte: SnapshotPart.Kind.operations.rawValue)
    content.append(varint: 0)
    content.append(varint: UInt64(operation.bytes.count))
    content.append(raw: operation.bytes + [0, 0])
    parts[1] = try SnapshotPart.encoded(content.bytes)
    let error = try upload(parts, as: offer, service)
    #expect(error?.code == .snapshotRefused)
    #expect(error?.message.contains("the space does not have") == true)
  }

  @Test("after a refusal none is asked for until the pause is over", arguments: StoreKind.allCases)
  func pause(kind: StoreKind) throws {
    let test = try kind.open()
    let service = test.service {
      ($0.operationsPerSnapshot, $0.refusalPause) = (2, .seconds(10))
    }
    var ada = Author(1)
    _ = try service.push(ada.write(count: 4), to: .home)
    #expect(try service.greet(.home).wantsSnapshot)
    let offer = SnapshotOffer(at: try service.end(), of: [ada])
    #expect(try upload(parts(.noise, of: offer), as: offer, service)?.code == .snapshotRefused)
    #expect(try !service.greet(.home).wantsSnapshot)
    test.clock.now += 10_000
    #expect(try service.greet(.home).wantsSnapshot)
  }

  @Test("an operator takes one that was refused, and drops another", arguments: StoreKind.allCases)
  func accepted(kind: StoreKind) throws {
    let test = try kind.open()
    let service = test.service { $0.retention = .zero }
    var ada = Author(1)
    _ = try service.push(ada.write(count: 4), to: .home)
    let offer = SnapshotOffer(at: try service.end(), of: [ada])
    _ = try upload(parts(.otherHeads, of: offer), as: offer, service)
    let refused = try #require(try service.snapshots(of: .home).first)
    #expect(refused.refusal?.contains("does not match the heads") == true)
    _ = try service.acceptSnapshot(refused.id, in: .home)
    try maintain(service)
    #expect(try service.greet(.home).snapshot?.id == refused.id)
    #expect(try service.greet(.home).trimmed == 4)
    let again = refusal { _ = try service.acceptSnapshot(refused.id, in: .home) }
    #expect(again?.code == .snapshotUnknown)
    let only = refusal { try service.dropSnapshot(refused.id, in: .home) }
    #expect(only?.code == .snapshotConflict)
    #expect(try service.greet(.home).snapshot?.id == refused.id)
  }

  @Test("a refill looks at a refused base once more", arguments: StoreKind.allCases)
  func again(kind: StoreKind) throws {
    let test = try kind.open()
    let service = test.service()
    var (ada, bob) = (Author(1), Author(2))
    _ = try service.push(ada.write(count: 4), to: .home)
    _ = bob.write()
    let wrong = SnapshotOffer("wrong", at: try service.end(), of: [ada])
    _ = try upload(parts(.noise, of: wrong), as: wrong, service)
    let id = try #require(try service.snapshots(of: .home).first?.id)
    _ = try service.acceptSnapshot(id, in: .home)
    // Held against that one, no base is right.
    try service.refill(.home)
    test.clock.now += 1
    let base = SnapshotOffer("base", at: try service.end(), of: [ada, bob], isBase: true)
    #expect(try upload(base.partsWithoutRows(), as: base, service)?.code == .snapshotRefused)
    try service.dropSnapshot(id, in: .home)
    #expect(service.refusalOf(base) == .snapshotRefused)
    try service.refill(.home)
    // Nothing has to be uploaded again.
    let upload = try service.beginSnapshot(base, in: .home)
    #expect(upload.missing == [])
    try service.completeSnapshot(upload.id, in: .home)
    #expect(try service.greet(.home).heads == VersionVector([ada.replica: 4, bob.replica: 1]))
  }

  @Test("one that is still wrong is looked at once a refill", arguments: StoreKind.allCases)
  func once(kind: StoreKind) throws {
    let test = try kind.open()
    let service = test.service()
    var ada = Author(1)
    _ = ada.write()
    let base = SnapshotOffer("base", at: nil, of: [ada], isBase: true)
    _ = try upload(parts(.noise, of: base), as: base, service)
    test.clock.now += 1
    try service.refill(.home)
    test.clock.now += 1
    let upload = try service.beginSnapshot(base, in: .home)
    #expect(
      refusal { try service.completeSnapshot(upload.id, in: .home) }?.code == .snapshotRefused)
    #expect(service.refusalOf(base) == .snapshotRefused)
  }

  @Test("one of an older schema than the newest is superseded", arguments: StoreKind.allCases)
  func older(kind: StoreKind) throws {
    let service = try kind.open().service()
    var ada = Author(1)
    func offer(_ version: UInt32) throws -> SnapshotOffer {
      _ = try service.push([ada.write()], to: .home)
      var offer = SnapshotOffer("v\(version)", at: try service.end(), of: [ada])
      offer.schema = SnapshotSchema(version: version)
      return offer
    }
    try service.upload(offer(2))
    #expect(service.refusalOf(try offer(1)) == .snapshotSuperseded)
    try service.upload(offer(3))
  }
}
#endif
