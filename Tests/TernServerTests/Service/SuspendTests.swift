#if Server
import TernCore
import TernServer
import Testing

@Suite("Service: suspended spaces, on every store")
struct SuspendTests {
  @Test(
    "what is new is refused by name, and taken once it is resumed", arguments: StoreKind.allCases)
  func push(kind: StoreKind) throws {
    let service = try kind.open().service()
    var (ada, bob) = (Author(1), Author(2))
    let old = ada.write(count: 2)
    _ = try service.push(old, to: .home)
    try service.asOperator.suspend(.home)
    try service.asOperator.suspend(.home)
    let new = ada.write()
    #expect(refusal { _ = try service.push([new], to: .home) }?.code == .spaceSuspended)
    #expect(try service.greet(.home).position == 2)
    // What it has is acknowledged again, and given out, and other spaces take what they did.
    #expect(try service.push(old, to: .home).accepted == 0)
    #expect(try service.pull(from: .home, after: nil, excluding: bob.replica).operations == old)
    #expect(try service.lease(of: bob.replica, in: .home) != nil)
    #expect(try service.push([bob.write()], to: .work).accepted == 1)
    try service.asOperator.resume(.home)
    #expect(try service.push([new], to: .home).accepted == 1)
  }

  @Test(
    "so are snapshots, their parts and state reports, which it doesn't ask for",
    arguments: StoreKind.allCases)
  func snapshots(kind: StoreKind) throws {
    let service = try kind.open().service {
      ($0.operationsPerSnapshot, $0.stateInterval) = (1, .milliseconds(0))
    }
    var ada = Author(1)
    _ = try service.push(ada.write(count: 3), to: .home)
    let end = try service.end()
    let report = StateReport(
      replica: ada.replica, cursor: end, operations: 1, tables: ["book": .init(shape: 1, rows: 1)])
    let offer = SnapshotOffer(at: end, of: [ada])
    let upload = try service.beginSnapshot(offer, in: .home)
    let parts = try offer.partsWithoutRows()
    #expect(try service.greet(.home).wantsSnapshot && service.greet(.home).wantsState)
    try service.asOperator.suspend(.home)
    #expect(try !service.greet(.home).wantsSnapshot && !service.greet(.home).wantsState)
    func codes() -> [RemoteError.Code?] {
      [
        refusal { _ = try service.beginSnapshot(offer, in: .home) },
        refusal { try service.putSnapshotPart(parts[0], index: 0, of: upload.id, in: .home) },
        refusal { try service.completeSnapshot(upload.id, in: .home) },
        refusal { try service.report(report, in: .home) },
      ].map { $0?.code }
    }
    #expect(codes().allSatisfy { $0 == .spaceSuspended })
    try service.asOperator.resume(.home)
    #expect(!codes().contains(.spaceSuspended))
    try service.upload(offer)
    #expect(try service.greet(.home).snapshot != nil)
  }

  @Test("a space that isn't there is not suspended, and not made", arguments: StoreKind.allCases)
  func absent(kind: StoreKind) throws {
    let service = try kind.open().service()
    #expect(refusal { try service.asOperator.suspend(.home) }?.code == .notFound)
    #expect(refusal { try service.asOperator.resume(.home) }?.code == .notFound)
    #expect(try service.store.spaces().isEmpty)
  }
}
#endif
