#if Server
import TernCore
import TernServer
import Testing

@Suite("Service: snapshots that gave way are kept for a while, on every store")
struct KeptSnapshotTests {
  private static let day: Int64 = 86_400_000

  /// Snapshots of about 10,000 bytes each, one after the other.
  @discardableResult
  private func upload(_ keys: [String], _ service: SpaceService, _ ada: inout Author) throws
    -> [String]
  {
    try keys.map { key in
      _ = try service.push([ada.write()], to: .home)
      let offer = SnapshotOffer(key, at: try service.end(), of: [ada], parts: 3)
      let id = try service.beginSnapshot(offer, in: .home).id
      for (index, part) in try offer.parts(ofAbout: 10_000).enumerated() {
        try service.putSnapshotPart(part, index: index, of: id, in: .home)
      }
      try service.completeSnapshot(id, in: .home)
      return id
    }
  }

  private func dropped(_ service: SpaceService) throws -> [String] {
    try service.store.update(.home) { try $0.droppedSnapshots().map(\.id) }
  }

  @Test("no more of them than a space may store", arguments: StoreKind.allCases)
  func bytes(kind: StoreKind) throws {
    let service = try kind.open().service { $0.bytesPerSpace = 35_000 }
    var ada = Author(1)
    let ids = try upload(["a", "b", "c", "d", "e", "f", "g", "h"], service, &ada)
    try maintain(service)
    // All are of about one size, and the two newest are no matter here.
    let one = try #require(service.snapshots(of: .home).last?.bytes)
    let most = 35_000 / one
    #expect(try dropped(service) == Array(ids[..<6].suffix(most).reversed()) && most < 6)
    #expect(try service.store.usage(of: .home).keptBytes <= 35_000)
    #expect(try service.setQuota(SpaceQuota(bytes: one * 3 / 2), of: .home))
    try maintain(service)
    #expect(try dropped(service) == [ids[5]])
  }

  @Test("one that was dropped twice goes when each is old", arguments: StoreKind.allCases)
  func twice(kind: StoreKind) throws {
    let test = try kind.open()
    let service = test.service()
    var ada = Author(1)
    _ = try service.push([ada.write()], to: .home)
    let offer = SnapshotOffer("a", at: try service.end(), of: [ada])
    let first = try service.upload(offer)
    for key in ["b", "c"] {
      let ids = try upload([key], service, &ada)
      if key == "c" { try service.dropSnapshot(ids[0], in: .home) }
    }
    // Dropping what is newer lets the first come again under its name.
    for snapshot in try service.snapshots(of: .home) {
      try service.dropSnapshot(snapshot.id, in: .home)
    }
    test.clock.now += 4 * Self.day
    #expect(try service.upload(offer) == first)
    try upload(["d", "e"], service, &ada)
    #expect(try dropped(service) == [first, first])
    test.clock.now += 4 * Self.day
    try maintain(service)
    #expect(try dropped(service) == [first])
    #expect(try service.restore(.home).snapshots == [first])
    #expect(try !service.snapshotPart(0, of: first, in: .home).isEmpty)
  }

  @Test(
    "one that was dropped by a clock that was ahead is not kept for ever",
    arguments: StoreKind.allCases)
  func ahead(kind: StoreKind) throws {
    let test = try kind.open()
    let service = test.service()
    var ada = Author(1)
    test.clock.now += 400 * Self.day
    try upload(["a", "b", "c"], service, &ada)
    test.clock.now -= 400 * Self.day
    // A clock that is behind for a while makes nothing old.
    for _ in 0..<20 {
      try maintain(service)
      #expect(try dropped(service).count == 1)
      test.clock.now += Self.day / 3
    }
    for _ in 0..<20 {
      test.clock.now += Self.day / 3
      try maintain(service)
    }
    #expect(try dropped(service) == [])
  }

  @Test("a space that is deleted at that moment does not come back", arguments: StoreKind.allCases)
  func deleted(kind: StoreKind) throws {
    let test = try kind.open()
    let base = test.service()
    let operations: [(SpaceService) throws -> Void] = [
      { _ = try $0.restore(.home) }, { try $0.refill(.home) },
      { _ = try $0.setQuota(SpaceQuota(bytes: 1), of: .home) },
    ]
    for operation in operations {
      var ada = Author(1)
      try upload(["a", "b", "c"], base, &ada)
      let store = FailingStore(test.store) { space in _ = try? base.removeSpace(space) }
      let service = SpaceService(store: store, clock: base.clock)
      #expect(refusal { try operation(service) }?.code == .notFound)
      #expect(try test.store.spaces() == [])
    }
    // What a disk that is short has removed is what is there.
    var ada = Author(1)
    try upload(["a", "b", "c"], base, &ada)
    let store = FailingStore(test.store) { space in
      if space == .home { _ = try? base.removeSpace(space) }
    }
    let short = SpaceService(store: store, clock: base.clock, disk: ServerDisk { 0 })
    var bob = Author(2)
    #expect(refusal { _ = try short.push([bob.write()], to: .work) }?.code == .unavailable)
    #expect(try test.store.spaces() == [])
  }
}
#endif
