#if Server
import Foundation
import GRDB
import Tern
import Testing

@testable import TernServer

/// A server's data as it was written when the format was frozen. The file is never made again: a
/// change that fails here makes a new format, and still has to open this one.
@Suite("Frozen: a server's file")
struct ServerFixtureTests {
  enum Origin: CaseIterable {
    /// The file of format 4 that is kept.
    case kept
    /// That of format 5.
    case keptFive
    /// That of format 6.
    case keptSix
    /// That of format 7.
    case keptSeven
    /// That of format 8.
    case keptEight
    /// That of format 9.
    case keptNine
    /// What today's code makes in its place.
    case made
  }

  private static func kept(_ name: String) -> String {
    URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "../Fixtures/v1/\(name)").standardized.path
  }
  private static let five = kept("server-5.tern")
  private static let six = kept("server-6.tern")
  private static let seven = kept("server-7.tern")
  private static let eight = kept("server-8.tern")
  private static let nine = kept("server-9.tern")
  private static let shed = SpaceName(stored: "shed")
  private static let (yard, attic) = (SpaceName(stored: "yard"), SpaceName(stored: "attic"))
  private static let otherEpoch = "7c0d5b1e9f3a2846d1c4b7a09e8f6352"
  private static let annasToken =
    "tern_7fce8fe54eef4ccb2202dfc991634333f0cd07e8b2f993956d6cf05a39eb7d1b"
  /// In the middle of the century.
  private static let expiry: Int64 = 2_500_000_000_000
  private static let expiringToken =
    "tern_161e03c45f8dc366819933131bcfc38680d8e57a5a4e78ee59676f1ef5bf0aaf"
  private static let token = "tern_5af84745c544212be863a73cfb0d17566bfb77d8d9cb20efe303d621dfb697f5"

  /// Two spaces: one with a snapshot, operations before it trimmed, leases and an upload that did not
  /// end; one with a group that continues.
  private static func make(_ path: String) throws {
    let store = try openStore(path, seed: 3)
    var generator = SeededGenerator(state: 5)
    var limits = ServerLimits()
    limits.retention = .zero
    let service = SpaceService(
      store: store, clock: ServerClock { Date(milliseconds: 1_700_000_000_000) }, limits: limits)
    #expect(try service.createToken(for: .home, using: &generator) == token)
    var (ada, bob) = (Author(1), Author(2))
    _ = try service.push(ada.write(count: 3), to: .home)
    _ = try service.push([bob.write("one")], to: .home)
    var kept = SnapshotOffer("kept", at: try service.end(), of: [ada, bob])
    kept.schema = SnapshotSchema(
      version: 2,
      renamed: [.init(name: "book", formerNames: ["tome"], formerColumns: ["title": ["name"]])])
    try service.upload(kept)
    try maintain(service)
    _ = try service.push([bob.write("two"), ada.write("four")], to: .home)
    _ = try service.pull(
      from: .home, after: service.end(), excluding: ada.replica)
    let refused = try service.beginSnapshot(
      SnapshotOffer("refused", at: service.end(), of: [ada, bob], version: 2), in: .home)
    for index in 0..<2 { try service.putSnapshotPart([7], index: index, of: refused.id, in: .home) }
    #expect(refusal { try service.completeSnapshot(refused.id, in: .home) } != nil)
    let offer = SnapshotOffer("begun", at: try service.end(), of: [ada, bob], version: 2)
    let upload = try service.beginSnapshot(offer, in: .home)
    try service.putSnapshotPart([7], index: 1, of: upload.id, in: .home)
    var eve = Author(3)
    _ = try service.push([eve.write("half", continues: true)], to: .work)
    let quota = SpaceQuota(bytes: 1_000_000, operations: 1_000, share: 60)
    #expect(try service.setQuota(quota, of: .work))
    let token = try service.createToken(for: .work, of: MemberName("anna"), using: &generator)
    #expect(token == annasToken)
    var fay = Author(6)
    try service.claim(fay.replica, by: MemberName("anna"), in: .work)
    _ = try service.push([fay.write()], to: .work, by: MemberName("anna"))
    try service.ban(fay.replica, in: .work)
    _ = try service.refill(.work)
    // A base that was dropped, and what its author wrote behind it.
    var (gil, hal) = (Author(7), Author(8))
    _ = gil.write()
    let retaining = SpaceService(store: store, clock: service.clock)
    let base = try retaining.upload(SnapshotOffer(at: nil, of: [gil], isBase: true), to: shed)
    _ = try retaining.push([gil.write(), hal.write()], to: shed)
    try retaining.dropSnapshot(base, in: shed)
    let lasting = try service.createToken(
      for: shed, label: TokenLabel("key by the door"), expires: Date(milliseconds: expiry),
      using: &generator)
    #expect(lasting == expiringToken)
    try service.asOperator.suspend(shed)
    try makeMoved(service, store)
    var recorded = service
    recorded.actor = .operator(try OperatorName("olga"))
    #expect(try recorded.setQuota(SpaceQuota(authors: 9), of: yard))
    try store.close()
  }

  /// A space that came from another store, and one that moved there.
  private static func makeMoved(_ service: SpaceService, _ store: SQLiteSpaceStore) throws {
    var (ivy, jon) = (Author(11), Author(12))
    try store.place(SpaceStanding(epoch: otherEpoch, peer: otherEpoch), of: yard)
    _ = try service.push(ivy.write(count: 2), to: yard)
    _ = try service.push([jon.write()], to: attic)
    try store.place(
      SpaceStanding(epoch: store.epoch, phase: .moved, peer: otherEpoch), of: attic)
  }

  /// A file that is not there fails, but for whoever makes it.
  static var origins: [Origin] {
    ProcessInfo.processInfo.environment["TERN_MAKE_FIXTURES"] == nil ? Origin.allCases : [.made]
  }

  /// The kept file is older than the check of what is in a snapshot.
  private func expectedParts(_ origin: Origin) throws -> [[UInt8]] {
    if origin == .kept { return (0..<2).map { Array("kept \($0)".utf8) } }
    var (ada, bob) = (Author(1), Author(2))
    _ = (ada.write(count: 3), bob.write("one"))
    return try SnapshotOffer(at: nil, of: [ada, bob], version: 2).partsWithoutRows()
  }

  private func withCopy(_ origin: Origin, _ body: (String) throws -> Void) throws {
    let folder = try TemporaryFolder()
    let path = folder.path("server.tern")
    switch origin {
    case .kept:
      try FileManager.default.copyItem(atPath: Self.kept("server.tern"), toPath: path)
    case .keptFive: try FileManager.default.copyItem(atPath: Self.five, toPath: path)
    case .keptSix: try FileManager.default.copyItem(atPath: Self.six, toPath: path)
    case .keptSeven: try FileManager.default.copyItem(atPath: Self.seven, toPath: path)
    case .keptEight: try FileManager.default.copyItem(atPath: Self.eight, toPath: path)
    case .keptNine: try FileManager.default.copyItem(atPath: Self.nine, toPath: path)
    case .made: try Self.make(path)
    }
    try body(path)
  }

  @Test(arguments: ServerFixtureTests.origins)
  func `it is opened, read and goes on`(_ origin: Origin) throws {
    try withCopy(origin) { path in
      #expect(try DatabaseDiagnosis(path: path, other: ServerDoctor.look).findings == [])
      for _ in 0..<2 {
        let store = try openStore(path, seed: 77)
        let service = SpaceService(
          store: store, clock: ServerClock { Date(milliseconds: 1_700_000_100_000) })
        try service.authorize(Self.token, for: .home)
        let greeting = try service.greet(.home)
        #expect(greeting.trimmed == 4)
        let snapshot = try #require(greeting.snapshot)
        #expect(
          try (0..<2).map { try service.snapshotPart($0, of: snapshot.id, in: .home) }
            == expectedParts(origin))
        let page = try service.pull(from: .home, after: snapshot.cursor)
        #expect(
          page.operations.prefix(2).map { "\($0.envelope.replica.short) \($0.envelope.sequence)" }
            == ["0002 2", "0001 4"])
        #expect(
          page.operations.first.map { Array($0.bytes[$0.bodyOffset...]) } == Array("two".utf8))
        #expect(refusal { _ = try service.pull(from: .home, after: nil) } != nil)
        if origin != .kept { try checkFive(service) }
        // In the order of their formats.
        let place = try #require(Origin.allCases.firstIndex(of: origin))
        func has(_ first: Origin) -> Bool { place >= Origin.allCases.firstIndex(of: first)! }
        if has(.keptSix) { try checkSix(service) }
        if has(.keptSeven) { try checkSeven(service) }
        if has(.keptEight) { try checkEight(service) }
        try checkNine(service, hasRecord: has(.keptNine))
        try store.close()
      }
      let store = try openStore(path)
      let service = SpaceService(
        store: store, clock: ServerClock { Date(milliseconds: 1_700_000_100_000) })
      let next = SyncOperation(
        .init(
          replica: Author(1).replica, sequence: 5, time: HybridTime(milliseconds: 2_000_000)),
        body: Array("five".utf8))
      #expect(try service.push([next], to: .home).accepted == 1)
      #expect(try service.greet(.home).position == 7)
      // The rest of the group that had begun, and no other.
      var eve = Author(3)
      _ = eve.write(continues: true)
      var other = eve
      #expect(refusal { _ = try service.push([other.write()], to: .work) } != nil)
      #expect(try service.push([eve.fragment()], to: .work).accepted == 1)
      try expectHealthy(store)
      try store.close()
    }
  }

  /// What format 9 has more. One that was brought forward has nothing of before.
  private func checkNine(_ service: SpaceService, hasRecord: Bool) throws {
    let records = try service.store.auditRecords(after: 0, of: nil, atMost: 9)
    let entry = AuditEntry(
      actor: AuditActor(stored: "operator:olga"), action: .setQuota, space: Self.yard,
      time: Date(milliseconds: 1_700_000_000_000), details: ["authors": "9"])
    #expect(records == (hasRecord ? [AuditRecord(number: 1, entry)] : []))
  }

  /// What format 8 has more.
  private func checkEight(_ service: SpaceService) throws {
    #expect(try service.greet(Self.yard).epoch == Self.otherEpoch)
    let cursor = try service.end(of: Self.yard).rawValue
    #expect(cursor.hasPrefix("\(Self.otherEpoch).2."))
    #expect(refusal { _ = try service.greet(Self.attic) }?.code == .spaceMoved)
    let standing = try service.store.summary(of: Self.attic).standing
    #expect(standing.peer == Self.otherEpoch && standing.epoch == service.store.epoch)
  }

  /// What format 7 has more.
  private func checkSeven(_ service: SpaceService) throws {
    let record = try service.authorize(Self.expiringToken, for: Self.shed)
    #expect(record.label?.text == "key by the door")
    #expect(record.expires == Date(milliseconds: Self.expiry))
    let began = Date(milliseconds: 1_700_000_000_000)
    #expect(try service.store.summary(of: Self.shed).suspended == began)
  }

  /// What format 6 has more.
  private func checkSix(_ service: SpaceService) throws {
    let record = try service.authorize(Self.annasToken, for: .work)
    #expect(record.member?.text == "anna")
    let authors = try service.greet(.work).authors
    #expect(authors[Author(6).replica] == RemoteAuthor(member: "anna", bannedAfter: 1))
    let brought = try service.authors(of: .work)[Author(3).replica]?.record.brought
    #expect(brought == BroughtOperations(first: 1, last: 1, by: .unnamed))
    let until = try service.store.update(.work) { try $0.deadlines.refill }
    let lasting = ServerLimits().refillTime.milliseconds
    #expect(until == Date(milliseconds: 1_700_000_000_000 + lasting))
    let usage = try service.store.usage(of: .work)
    #expect(usage.quota.share == 60 && usage.banned.operations == 1 && usage.banned.bytes > 0)
    let unnamed = try service.store.update(.work) { try $0.counted(of: nil) }
    #expect(unnamed.operations >= 1 && unnamed.bytes == usage.counted.bytes)
    #expect(try everything(service, Self.shed).count == 1)
    #expect(try service.greet(Self.shed).position == 3)
    // What was trimmed can be brought back.
    #expect(try service.store.usage(of: .home).keptBytes > 0)
  }

  /// What format 5 has more.
  private func checkFive(_ service: SpaceService) throws {
    let snapshots = try service.snapshots(of: .home)
    #expect(snapshots.count { $0.refusal != nil } == 1)
    let kept = try #require(snapshots.first { $0.isComplete })
    #expect(kept.schema?.version == 2)
    #expect(kept.schema?.renamed.first?.formerColumns == ["title": ["name"]])
    let quota = try service.store.usage(of: .work).quota
    #expect((quota.bytes, quota.operations) == (1_000_000, 1_000))
  }

  /// Writes the file where there is none: `TERN_MAKE_FIXTURES=1`.
  @Test(
    .enabled(
      if: ProcessInfo.processInfo.environment["TERN_MAKE_FIXTURES"] != nil,
      "made once, where TERN_MAKE_FIXTURES is set"))
  func `the file is made once`() throws {
    // Refuses to overwrite.
    try #require(!FileManager.default.fileExists(atPath: Self.nine))
    // Elsewhere, because a log and its index stay beside a file in WAL mode.
    try withCopy(.made) { try FileManager.default.copyItem(atPath: $0, toPath: Self.nine) }
  }
}

extension ReplicaID {
  /// Its last four digits.
  fileprivate var short: String { String(description.suffix(4)) }
}
#endif
