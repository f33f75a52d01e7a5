#if Server
import TernCore
import Testing

@testable import TernServer

@Suite("Service: what a space may store")
struct QuotaTests {
  /// A service whose spaces take so much.
  private func service(
    _ opened: StoreUnderTest, bytes: Int = 100_000, operations: Int = 1_000
  ) -> SpaceService {
    opened.service {
      ($0.bytesPerSpace, $0.operationsPerSpace, $0.retention) = (bytes, operations, .zero)
    }
  }

  private func put(
    _ parts: Int, of bytes: Int, _ offer: SnapshotOffer, _ service: SpaceService
  ) throws -> String {
    let upload = try service.beginSnapshot(offer, in: .home)
    for index in 0..<parts {
      try service.putSnapshotPart(
        [UInt8](repeating: UInt8(index), count: bytes), index: index, of: upload.id, in: .home)
    }
    return upload.id
  }

  @Test(
    "bytes count as they are stored, whatever they were packed to", arguments: StoreKind.allCases)
  func bytes(kind: StoreKind) throws {
    let opened = try kind.open()
    let service = service(opened)
    var (ada, bob) = (Author(1), Author(2))
    let most = ada.write(count: 9, bytes: 10_000)
    _ = try service.push(most, to: .home)
    #expect(try service.store.usage(of: .home).bytes == most.byteCount)
    let more = ada.write(count: 1, bytes: 10_000)
    // A repeat needs no room, and is acknowledged.
    #expect(try service.push(most, to: .home).accepted == 0)
    let error = refusal { _ = try service.push(more, to: .home) }
    #expect(error?.code == .spaceFull && error?.message.hasPrefix("bytesPerSpace: ") == true)
    #expect(error?.isTransient == false)
    // Nothing of it is stored; reading and other spaces go on.
    #expect(try everything(service).count == 9)
    #expect(try service.push(bob.write(count: 1, bytes: 10_000), to: .work).accepted == 1)
    #expect(try service.store.usage(of: .home).bytes == most.byteCount)
  }

  /// INV-10, by what is served: whether a space stores more than it may.
  private func isOver(_ bytes: Int, _ service: SpaceService) throws -> Bool {
    try everything(service).byteCount > bytes
  }

  /// What packs well and is too much.
  private func push(_ service: SpaceService) throws -> RemoteError.Code? {
    var ada = Author(1)
    return refusal { _ = try service.push(ada.write(count: 11, bytes: 10_000), to: .home) }?.code
  }

  #if Rehearsal
  @Test(arguments: Planted.ofServers)
  func `INV-10: a planted bug is caught`(_ bug: Planted) throws {
    for kind in StoreKind.allCases {
      let wrong = service(try kind.open())
      #expect(try Planted.with(bug) { try push(wrong) } == nil)
      #expect(try isOver(100_000, wrong))
      let right = service(try kind.open())
      #expect(try push(right) == .spaceFull)
      #expect(try !isOver(100_000, right))
    }
  }
  #endif

  @Test("operations count until they are trimmed", arguments: StoreKind.allCases)
  func operations(kind: StoreKind) throws {
    let opened = try kind.open()
    let service = service(opened, operations: 5)
    var ada = Author(1)
    _ = try service.push(ada.write(count: 5), to: .home)
    let next = ada.write()
    let error = refusal { _ = try service.push([next], to: .home) }
    #expect(error?.code == .spaceFull && error?.message.hasPrefix("operationsPerSpace: ") == true)
    let heads = [ada.replica: SnapshotHead(try lastHead(service, ada.replica))]
    try service.upload(
      SnapshotOffer(key: "k", parts: 2, cursor: service.end(), heads: heads))
    #expect(try service.store.usage(of: .home).operations == 0)
    #expect(try service.push([next], to: .home).accepted == 1)
  }

  private func lastHead(_ service: SpaceService, _ author: ReplicaID) throws -> AuthorHead {
    try service.store.update(.home) { try #require(try $0.heads()[author]) }
  }

  @Test("a full space frees itself by a snapshot", arguments: StoreKind.allCases)
  func snapshots(kind: StoreKind) throws {
    let opened = try kind.open()
    let service = service(opened)
    var ada = Author(1)
    let log = ada.write(count: 9, bytes: 10_000)
    _ = try service.push(log, to: .home)
    let full = ada
    let next = ada.write(count: 5, bytes: 10_000)
    #expect(refusal { _ = try service.push(next, to: .home) }?.code == .spaceFull)
    let offer = SnapshotOffer("a", at: try service.end(), of: [full], parts: 5)
    // Together with the log it is over the limit.
    let parts = try offer.parts(ofAbout: 10_000)
    let bytes = parts.joined().count
    let id = try service.beginSnapshot(offer, in: .home).id
    for (index, part) in parts.enumerated() {
      try service.putSnapshotPart(part, index: index, of: id, in: .home)
    }
    #expect(try service.store.usage(of: .home).bytes == log.byteCount + bytes)
    try service.completeSnapshot(id, in: .home)
    try maintain(service)
    #expect(try service.store.usage(of: .home).bytes == bytes)
    _ = try service.push(next, to: .home)

    // Twice the newest is the most that the next one may have where there is no room.
    let second = SnapshotOffer("b", at: try service.end(), of: [ada], parts: 9)
    let upload = try service.beginSnapshot(second, in: .home)
    func part(_ index: Int) -> RemoteError.Code? {
      refusal {
        try service.putSnapshotPart(
          [UInt8](repeating: UInt8(index), count: 10_000), index: index, of: upload.id, in: .home)
      }?.code
    }
    let fitting = 2 * bytes / 10_000
    #expect(fitting < 9)
    #expect(
      (0..<9).map(part)
        == Array(repeating: nil, count: fitting) + Array(repeating: .spaceFull, count: 9 - fitting))
    #expect(try service.greet(.home).snapshot?.position == 9)
  }

  @Test("an operator gives one space more, or less", arguments: StoreKind.allCases)
  func own(kind: StoreKind) throws {
    let opened = try kind.open()
    let service = service(opened, bytes: 1_000)
    var ada = Author(1)
    let operations = ada.write(count: 4, bytes: 1_000)
    #expect(try !service.setQuota(SpaceQuota(bytes: 1), of: .home))
    var generator = SeededGenerator(state: 1)
    _ = try service.createToken(for: .home, using: &generator)
    #expect(refusal { _ = try service.push(operations, to: .home) }?.code == .spaceFull)
    #expect(try service.setQuota(SpaceQuota(bytes: 10_000), of: .home))
    #expect(try service.push(operations, to: .home).accepted == 4)
    #expect(try service.setQuota(SpaceQuota(operations: 4), of: .home))
    #expect(try service.store.usage(of: .home).quota == SpaceQuota(operations: 4))
    #expect(refusal { _ = try service.push([ada.write()], to: .home) }?.code == .spaceFull)
    #expect(try everything(service).count == 4)
  }
}

extension SnapshotHead {
  fileprivate init(_ head: AuthorHead) { self.init(sequence: head.sequence, time: head.time) }
}
#endif
