#if Server
import Foundation
import TernCore
import Testing

@testable import TernServer
@testable import TernServerTesting

/// A change by an operator, and what has to be before it.
struct AuditedChange: Sendable, CustomTestStringConvertible {
  let action: AuditAction
  /// `nil` for those that have a snapshot's id.
  var details: [String: String]? = [:]
  var prepare: @Sendable (SpaceService) throws -> Void = { _ in }
  let run: @Sendable (SpaceService) throws -> Void

  var testDescription: String { "\(action)" }

  static let ada = Author(1).replica
  private static let id = ada.description
  private static let secret = "tern_secret"
  private static let digest = TokenDigest(token: secret)

  /// Every one that a service makes; the tests of moves have those of moves.
  static let all: [AuditedChange] = [
    AuditedChange(action: .createSpace) { _ = try $0.createSpace(.home) },
    AuditedChange(action: .deleteSpace, prepare: fill) { _ = try $0.removeSpace(.home) },
    AuditedChange(action: .suspendSpace, prepare: fill) { _ = try $0.asOperator.suspend(.home) },
    AuditedChange(
      action: .resumeSpace,
      prepare: {
        try fill($0)
        try $0.asOperator.suspend(.home)
      },
      run: { _ = try $0.asOperator.resume(.home) }),
    AuditedChange(action: .setQuota, details: ["bytes": "9000", "share": "40"], prepare: fill) {
      _ = try $0.setQuota(SpaceQuota(bytes: 9_000, share: 40), of: .home)
    },
    AuditedChange(action: .openRefill, prepare: fill) { _ = try $0.refill(.home) },
    AuditedChange(
      action: .closeRefill,
      prepare: {
        try fill($0)
        _ = try $0.refill(.home)
      },
      run: { _ = try $0.refill(.home, isOpen: false) }),
    AuditedChange(
      action: .restoreSpace, details: ["operations": "2", "snapshots": "0"], prepare: trim
    ) { _ = try $0.restore(.home) },
    AuditedChange(
      action: .endRestore,
      prepare: {
        try trim($0)
        _ = try $0.restore(.home)
      },
      run: { try $0.endRestore(.home) }),
    AuditedChange(
      action: .revokeToken,
      details: ["token": "\(digest)", "member": "anna", "label": "phone"], prepare: addToken
    ) { _ = try $0.revoke(secret) },
    AuditedChange(action: .banReplica, details: ["replica": id, "after": "3"], prepare: fill) {
      _ = try $0.ban(ada, in: .home)
    },
    AuditedChange(
      action: .unbanReplica, details: ["replica": id],
      prepare: {
        try fill($0)
        _ = try $0.ban(ada, in: .home)
      },
      run: { _ = try $0.unban(ada, in: .home) }),
    AuditedChange(action: .admitReplica, details: ["replica": id, "through": "9"], prepare: fill) {
      _ = try $0.admit(ada, through: 9, in: .home)
    },
    AuditedChange(
      action: .assignReplica, details: ["replica": id, "member": "anna"], prepare: fill
    ) { _ = try $0.assign(ada, to: MemberName("anna"), in: .home) },
    AuditedChange(
      action: .releaseReplica, details: ["replica": id],
      prepare: {
        try fill($0)
        let lease = Lease(position: 1, renewed: $0.clock.now)
        try $0.store.update(.home) { try $0.set(lease, of: ada) }
      },
      run: { _ = try $0.asOperator.dropLease(of: ada, in: .home) }),
    AuditedChange(action: .acceptSnapshot, details: nil, prepare: addSnapshot) { service in
      let id = try service.snapshots(of: .home).first { $0.refusal != nil }?.id
      _ = try service.acceptSnapshot(id ?? "accepted before", in: .home)
    },
    AuditedChange(action: .dropSnapshot, details: nil, prepare: addSnapshot) { service in
      try service.dropSnapshot(service.snapshots(of: .home).first?.id ?? "gone", in: .home)
    },
  ]

  @Sendable private static func fill(_ service: SpaceService) throws {
    var ada = Author(1)
    _ = try service.push(ada.write(count: 3), to: .home)
  }

  @Sendable private static func trim(_ service: SpaceService) throws {
    try fill(service)
    try service.store.update(.home) {
      try $0.trim(through: 2)
      _ = try $0.releaseTrimmed(operations: 9)
    }
  }

  @Sendable private static func addToken(_ service: SpaceService) throws {
    let record = TokenRecord(
      digest: digest, space: .home, member: try MemberName("anna"), label: try TokenLabel("phone"),
      created: service.clock.now)
    try service.store.update(.home) { try $0.add(record) }
  }

  /// One that is refused, as its parts have other heads.
  @Sendable private static func addSnapshot(_ service: SpaceService) throws {
    var ada = Author(1)
    _ = try service.push(ada.write(count: 3), to: .home)
    let offer = SnapshotOffer(at: try service.end(), of: [ada])
    _ = ada.write()
    let other = SnapshotOffer(at: offer.cursor, of: [ada])
    let upload = try service.beginSnapshot(offer, in: .home)
    for (index, part) in try other.partsWithoutRows().enumerated() {
      try service.putSnapshotPart(part, index: index, of: upload.id, in: .home)
    }
    #expect(refusal { try service.completeSnapshot(upload.id, in: .home) } != nil)
  }
}

/// What of a store is no record, and the records.
private struct AuditedPicture: Equatable {
  var store: [String]
  var records: [AuditRecord]

  init(_ service: SpaceService) throws {
    let store = service.store
    records = try store.auditRecords(after: 0, of: nil, atMost: 100)
    self.store = ["\(try store.tokens().map { "\($0.digest) \($0.expires as Any)" })"]
    for name in try store.spaces() {
      var picture = try StoreSpace(store, named: name.text).picture()
      picture.audit = []
      self.store.append("\(name) \(picture)")
    }
  }

  /// Whether what changed is recorded, and nothing else is.
  func isWhole(after before: AuditedPicture) -> Bool {
    (store != before.store) == (records != before.records)
  }
}

@Suite("Service: the audit log", .timeLimit(.minutes(2)))
struct AuditTests {
  private static let olga = AuditActor(stored: "operator:olga")

  private func recorded(_ service: SpaceService) -> SpaceService {
    var service = service
    service.actor = Self.olga
    return service
  }

  @Test(arguments: AuditedChange.all, StoreKind.allCases)
  func `a change leaves one record, and doing it again none`(
    _ change: AuditedChange, _ kind: StoreKind
  ) throws {
    let opened = try kind.open(hasRules: false)
    let service = opened.service()
    try change.prepare(service)
    #expect(try service.store.auditRecords(after: 0, of: nil, atMost: 9) == [])
    try change.run(recorded(service))
    let records = try service.store.auditRecords(after: 0, of: nil, atMost: 9)
    let details = change.details ?? records.first?.entry.details ?? [:]
    let entry = AuditEntry(
      actor: Self.olga, action: change.action, space: .home, time: service.clock.now,
      details: details)
    #expect(records == [AuditRecord(number: 1, entry)])
    if change.details == nil { #expect(details.keys.sorted() == ["snapshot"]) }
    // Some throw, as there is nothing to do any more. An opened refill would have a later end.
    try? change.run(recorded(service))
    #expect(try service.store.auditRecords(after: 0, of: nil, atMost: 9) == records)
    withExtendedLifetime(opened.examination) {}
  }

  @Test(arguments: StoreKind.allCases)
  func `a token's records name it by its id, and hold no secret`(kind: StoreKind) throws {
    let opened = try kind.open()
    let service = recorded(opened.service())
    var generator = SeededGenerator(state: 4)
    let first = try service.createToken(
      for: .home, of: MemberName("anna"), label: TokenLabel("phone"), using: &generator)
    let second = try service.asOperator.rotateToken(
      TokenDigest(token: first), grace: .seconds(60), using: &generator)
    let entries = try service.store.auditRecords(after: 0, of: .home, atMost: 9).map(\.entry)
    #expect(entries.map(\.action) == [.createSpace, .createToken, .rotateToken])
    let details = ["member": "anna", "label": "phone"]
    let (old, new) = (TokenDigest(token: first), TokenDigest(token: second))
    #expect(entries[1].details == details.merging(["token": "\(old)"]) { $1 })
    #expect(
      entries[2].details == details.merging(["token": "\(new)", "replaces": "\(old)"]) { $1 })
    let text = "\(entries)"
    #expect(!text.contains(first) && !text.contains(second))
    withExtendedLifetime(opened.examination) {}
  }

  @Test func `nobody who is not named leaves a record`() throws {
    for change in AuditedChange.all {
      let service = try StoreKind.memory.open().service()
      try change.prepare(service)
      try change.run(service)
      #expect(try service.store.auditRecords(after: 0, of: nil, atMost: 9) == [])
    }
  }

  @Test(arguments: AuditedChange.all)
  func `a record that SQLite can't store takes the change back`(_ change: AuditedChange) throws {
    let folder = try TemporaryFolder()
    let store = try openStore(folder.path("server.tern"))
    let service = SpaceService(store: store, clock: HandClock().clock)
    try change.prepare(service)
    try store.pool.write {
      try $0.execute(
        sql: """
          CREATE TRIGGER refuses BEFORE INSERT ON audit
          BEGIN SELECT RAISE(ABORT, 'no record today'); END
          """)
    }
    let before = try AuditedPicture(service)
    #expect(throws: (any Error).self) { try change.run(recorded(service)) }
    #expect(try AuditedPicture(service) == before)
    try store.pool.write { try $0.execute(sql: "DROP TRIGGER refuses") }
    try change.run(recorded(service))
    #expect(try AuditedPicture(service).isWhole(after: before))
    try store.close()
  }

  #if PostgreSQL
  /// At each statement of each change.
  @Test(
    .enabled(if: TestDatabase.address != nil, "script/test starts a database"),
    arguments: AuditedChange.all, [PostgreSQLError.lost, .diskFull])
  func `whatever fails, a change and its record are stored or neither is`(
    _ change: AuditedChange, _ error: PostgreSQLError
  ) throws {
    let probe = StatementProbe()
    let database = try TestDatabase()
    let store = try database.open(probe: probe.probe)
    let service = SpaceService(store: store, clock: HandClock().clock)
    try change.prepare(service)
    let statements = try probe.count { try change.run(recorded(service)) }
    #expect(statements > 3)
    let fails: @Sendable (PostgreSQLConnection) throws -> Void = { _ in throw error }
    // A lost answer is one of a statement that the server has run.
    let moment = error.state == nil ? PostgreSQLMoment.answered : .sending
    for number in 0..<statements {
      _ = try service.removeSpace(.home)
      try change.prepare(service)
      let before = try picture(database)
      // Nobody asks whether it throws: where a COMMIT's answer is lost, it says that all may be.
      _ = try? probe.doing(fails, at: number, moment) { try change.run(recorded(service)) }
      let after = try picture(database)
      let isRecorded = after.records != before.records
      #expect((after.store != before.store) == isRecorded, "at statement \(number)")
    }
  }

  /// The rows of the store, and the records of the audit log.
  private func picture(_ database: TestDatabase) throws -> (store: String, records: String) {
    func rows(_ table: String) -> String {
      "coalesce((SELECT string_agg(t::text, ';' ORDER BY t::text) FROM tern.\(table) AS t), '')"
    }
    let tables = ["space", "token", "author", "lease", "snapshot"].map(rows)
    let row = try database.run(
      "SELECT concat(\(tables.joined(separator: ", "))), \(rows("audit"))"
    ).first
    return (row?.text(0) ?? "", row?.text(1) ?? "")
  }

  /// Whoever reads on behind the last record that it saw misses none.
  @Test(.enabled(if: TestDatabase.address != nil, "script/test starts a database"))
  func `numbers are in the order of commits`() throws {
    let database = try TestDatabase()
    let (one, other) = (
      try database.open(), try database.open { $0.lockTimeout = .milliseconds(50) }
    )
    func entry(_ space: SpaceName) -> AuditEntry {
      AuditEntry(
        actor: Self.olga, action: .setQuota, space: space, time: Date(milliseconds: 1))
    }
    try one.update(.home) { transaction in
      try transaction.audit.add(entry(.home), keeping: 9)
      // Reads, so that what is queued is sent.
      _ = try transaction.usage
      #expect(throws: PostgreSQLError.self) {
        try other.update(.work) { try $0.audit.add(entry(.work), keeping: 9) }
      }
    }
    try other.update(.work) { try $0.audit.add(entry(.work), keeping: 9) }
    let records = try one.auditRecords(after: 0, of: nil, atMost: 9)
    #expect(records.map(\.number) == [1, 2])
    #expect(records.map(\.entry.space) == [.home, .work])
  }
  #endif
}
#endif
