#if Server
import TernCore
import TernServer
import Testing

@Suite("Service: uploads of snapshots, on every store")
struct UploadTests {
  @Test(
    "nothing is seen before all parts are there and it is complete", arguments: StoreKind.allCases)
  func visible(kind: StoreKind) throws {
    let service = try kind.open().service()
    var (ada, bob) = (Author(1), Author(2))
    _ = try service.push(ada.write(count: 3) + bob.write(count: 1), to: .home)
    let offer = SnapshotOffer(at: try service.end(), of: [ada, bob], parts: 3)
    let upload = try service.beginSnapshot(offer, in: .home)
    #expect(upload.missing == [0, 1, 2])
    let content = try offer.partsWithoutRows()
    for index in [2, 0] {
      try service.putSnapshotPart(content[index], index: index, of: upload.id, in: .home)
    }
    let early = refusal { try service.completeSnapshot(upload.id, in: .home) }
    #expect(early?.code == .snapshotIncomplete)
    #expect(try service.beginSnapshot(offer, in: .home).missing == [1])
    try service.putSnapshotPart(content[1], index: 1, of: upload.id, in: .home)
    #expect(try service.greet(.home).snapshot == nil)
    let hidden = refusal { _ = try service.snapshotPart(0, of: upload.id, in: .home) }
    #expect(hidden?.code == .snapshotUnknown)

    for _ in 0..<2 { try service.completeSnapshot(upload.id, in: .home) }
    let snapshot = try #require(try service.greet(.home).snapshot)
    #expect(
      snapshot
        == RemoteSnapshot(
          id: upload.id, position: 4, cursor: offer.cursor!, parts: 3,
          heads: VersionVector([ada.replica: 3, bob.replica: 1])))
    let parts = try (0..<3).map { try service.snapshotPart($0, of: upload.id, in: .home) }
    #expect(parts == content)
    #expect(refusal { _ = try service.snapshotPart(3, of: upload.id, in: .home) } != nil)
    #expect(refusal { _ = try service.snapshotPart(0, of: upload.id, in: .work) } != nil)
    #expect(try service.beginSnapshot(offer, in: .home).missing == [])
  }

  @Test(
    "a part again is acknowledged, another one under its number refused",
    arguments: StoreKind.allCases)
  func partTwice(kind: StoreKind) throws {
    let service = try kind.open().service()
    var ada = Author(1)
    _ = try service.push([ada.write()], to: .home)
    let offer = SnapshotOffer(at: try service.end(), of: [ada])
    let parts = try offer.partsWithoutRows()
    let id = try service.beginSnapshot(offer, in: .home).id
    for _ in 0..<2 { try service.putSnapshotPart(parts[0], index: 0, of: id, in: .home) }
    let other = refusal { try service.putSnapshotPart([2], index: 0, of: id, in: .home) }
    #expect(other?.code == .snapshotConflict)
    for index in [-1, 2] {
      let strange = refusal { try service.putSnapshotPart([2], index: index, of: id, in: .home) }
      #expect(strange?.code == .malformed)
    }
    try service.putSnapshotPart(parts[1], index: 1, of: id, in: .home)
    try service.completeSnapshot(id, in: .home)
    #expect(try service.snapshotPart(0, of: id, in: .home) == parts[0])
    try service.putSnapshotPart(parts[0], index: 0, of: id, in: .home)
    let late = refusal { try service.putSnapshotPart([2], index: 0, of: id, in: .home) }
    #expect(late?.code == .snapshotConflict)
  }

  @Test(
    "heads must be all that the space has up to the cursor, and pushed",
    arguments: StoreKind.allCases)
  func heads(kind: StoreKind) throws {
    let service = try kind.open().service()
    var (ada, bob) = (Author(1), Author(2))
    _ = try service.push(ada.write(count: 2), to: .home)
    let (before, cursor) = (ada, try service.end())
    _ = try service.push(bob.write(count: 1) + ada.write(count: 1), to: .home)
    let end = try service.end()
    #expect(service.refusalOf(SnapshotOffer(at: cursor, of: [])) == .snapshotIncomplete)
    #expect(service.refusalOf(SnapshotOffer(at: end, of: [before, bob])) == .snapshotIncomplete)
    #expect(service.refusalOf(SnapshotOffer(at: end, of: [ada])) == .snapshotIncomplete)
    var late = ada
    late.time = late.time.next(atMilliseconds: 0)
    #expect(service.refusalOf(SnapshotOffer(at: end, of: [late, bob])) == .snapshotConflict)
    _ = late.write()
    #expect(service.refusalOf(SnapshotOffer(at: end, of: [late, bob])) == .sequenceGap)
    #expect(service.refusalOf(SnapshotOffer(at: end, of: [ada, bob, Author(3)])) == .malformed)
    // Later operations than those up to the cursor may be in it.
    #expect(service.refusalOf(SnapshotOffer(at: cursor, of: [ada, bob])) == nil)
    #expect(service.refusalOf(SnapshotOffer("other", at: cursor, of: [before])) == nil)
  }

  @Test(
    "the cursor is of this history, and after the newest snapshot", arguments: StoreKind.allCases)
  func cursors(kind: StoreKind) throws {
    let test = try kind.open()
    let service = test.service()
    var ada = Author(1)
    _ = try service.push([ada.write()], to: .home)
    for text in ["", "x", "\(test.store.epoch).1.0000000000000000", "\(test.store.epoch).9."] {
      let offer = SnapshotOffer(at: RemoteCursor(rawValue: text), of: [ada])
      #expect(service.refusalOf(offer) == .cursorUnknown)
    }
    #expect(service.refusalOf(SnapshotOffer(at: nil, of: [ada])) == .snapshotSuperseded)
    let cursor = try service.end()
    let late = try service.beginSnapshot(SnapshotOffer("late", at: cursor, of: [ada]), in: .home)
    try service.upload(SnapshotOffer(at: cursor, of: [ada]))
    #expect(service.refusalOf(SnapshotOffer("b", at: cursor, of: [ada])) == .snapshotSuperseded)
    let dropped = refusal { try service.putSnapshotPart([1], index: 0, of: late.id, in: .home) }
    #expect(dropped?.code == .snapshotUnknown)
  }

  @Test("the two newest stay, so that loading the older one goes on", arguments: StoreKind.allCases)
  func kept(kind: StoreKind) throws {
    let service = try kind.open().service()
    var ada = Author(1)
    var (ids, offers): ([String], [SnapshotOffer]) = ([], [])
    for round in 0..<3 {
      _ = try service.push([ada.write()], to: .home)
      offers.append(SnapshotOffer("k\(round)", at: try service.end(), of: [ada]))
      ids.append(try service.upload(offers[round]))
    }
    let gone = refusal { _ = try service.snapshotPart(0, of: ids[0], in: .home) }
    #expect(gone?.code == .snapshotUnknown)
    #expect(try service.snapshotPart(0, of: ids[1], in: .home) == offers[1].partsWithoutRows()[0])
    #expect(try service.greet(.home).snapshot?.id == ids[2])
  }

  @Test(
    "a space of which much came since its snapshot wants another", arguments: StoreKind.allCases)
  func wanted(kind: StoreKind) throws {
    let service = try kind.open().service { $0.operationsPerSnapshot = 2 }
    var ada = Author(1)
    for expected in [false, false, true] {
      _ = try service.push([ada.write()], to: .home)
      #expect(try service.greet(.home).wantsSnapshot == expected)
    }
    try service.upload(SnapshotOffer(at: service.end(), of: [ada]))
    #expect(try !service.greet(.home).wantsSnapshot)
  }
}
#endif
