#if Server
import TernCore
import TernServer
import Testing

@Suite("Service: limits of snapshots, on every store")
struct UploadLimitTests {
  private func begun(
    _ kind: StoreKind, parts: Int = 2, _ change: (inout ServerLimits) -> Void
  ) throws -> (SpaceService, String, Author) {
    let service = try kind.open().service(change)
    var ada = Author(1)
    _ = try service.push([ada.write()], to: .home)
    let offer = SnapshotOffer(at: try service.end(), of: [ada], parts: parts)
    return (service, try service.beginSnapshot(offer, in: .home).id, ada)
  }

  private func written() -> Author {
    var ada = Author(1)
    _ = ada.write()
    return ada
  }

  @Test("a part has its limit, and is not empty", arguments: StoreKind.allCases)
  func partBytes(kind: StoreKind) throws {
    let (service, id, _) = try begun(kind) { $0.snapshotPartBytes = 3 }
    let long = refusal { try service.putSnapshotPart([1, 2, 3, 4], index: 0, of: id, in: .home) }
    #expect(long?.code == .tooLarge)
    #expect(long?.message.contains("snapshotPartBytes") == true)
    #expect(
      refusal { try service.putSnapshotPart([], index: 0, of: id, in: .home) }?.code == .malformed)
    try service.putSnapshotPart([1, 2, 3], index: 0, of: id, in: .home)
  }

  @Test("all parts together have a limit", arguments: StoreKind.allCases)
  func snapshotBytes(kind: StoreKind) throws {
    let heads = try SnapshotOffer(at: nil, of: [written()]).partsWithoutRows()
    let (service, id, _) = try begun(kind) { $0.snapshotBytes = heads.joined().count }
    try service.putSnapshotPart(heads[0], index: 0, of: id, in: .home)
    let long = refusal {
      try service.putSnapshotPart(heads[1] + [0], index: 1, of: id, in: .home)
    }
    #expect(long?.code == .tooLarge)
    #expect(long?.message.contains("snapshotBytes") == true)
    try service.putSnapshotPart(heads[1], index: 1, of: id, in: .home)
    try service.completeSnapshot(id, in: .home)
  }

  @Test("the number of parts has a limit, and offers a form", arguments: StoreKind.allCases)
  func shape(kind: StoreKind) throws {
    let (service, _, ada) = try begun(kind) { $0.snapshotParts = 2 }
    let end = try service.end()
    #expect(service.refusalOf(SnapshotOffer(at: end, of: [ada], parts: 3)) == .tooLarge)
    #expect(service.refusalOf(SnapshotOffer(at: end, of: [ada], parts: 0)) == .malformed)
    for key in ["", "a b", "é", String(repeating: "a", count: 65)] {
      #expect(service.refusalOf(SnapshotOffer(key, at: end, of: [ada])) == .malformed)
    }
  }

  @Test(
    "one upload too many takes the place of the one left alone the longest",
    arguments: StoreKind.allCases)
  func uploads(kind: StoreKind) throws {
    let test = try kind.open()
    let service = test.service { $0.uploadsPerSpace = 2 }
    var ada = Author(1)
    _ = try service.push([ada.write()], to: .home)
    let end = try service.end()
    var ids: [String] = []
    for key in ["a", "b"] {
      ids.append(
        try service.beginSnapshot(SnapshotOffer(key, at: end, of: [ada], parts: 2), in: .home).id)
      test.clock.now += 1
    }
    try service.putSnapshotPart([1], index: 0, of: ids[0], in: .home)
    _ = try service.beginSnapshot(SnapshotOffer("c", at: end, of: [ada]), in: .home)
    try service.putSnapshotPart([2], index: 1, of: ids[0], in: .home)
    let dropped = refusal { try service.putSnapshotPart([1], index: 0, of: ids[1], in: .home) }
    #expect(dropped?.code == .snapshotUnknown)
    #expect(dropped?.message.contains("uploadsPerSpace") == true)
  }

  @Test(
    "an upload that is left alone expires, one that goes on doesn't", arguments: StoreKind.allCases)
  func age(kind: StoreKind) throws {
    let test = try kind.open()
    let service = test.service { $0.uploadAge = .seconds(10) }
    var ada = Author(1)
    _ = try service.push([ada.write()], to: .home)
    let id = try service.beginSnapshot(
      SnapshotOffer(at: service.end(), of: [ada], parts: 3), in: .home
    ).id
    for index in 0..<2 {
      test.clock.now += 10_000
      _ = try service.maintain(.home)
      try service.putSnapshotPart([1], index: index, of: id, in: .home)
    }
    test.clock.now += 10_001
    _ = try service.maintain(.home)
    let late = refusal { try service.putSnapshotPart([1], index: 2, of: id, in: .home) }
    #expect(late?.code == .snapshotUnknown)
  }
}
#endif
