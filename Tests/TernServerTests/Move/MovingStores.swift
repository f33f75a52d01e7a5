#if Server
import Foundation
import TernCore
import Testing

@testable import TernServer

/// From what to what a space moves.
enum MoveWay: CaseIterable, CustomTestStringConvertible {
  case fileToFile, fileToDatabase, databaseToFile, databaseToDatabase

  /// Those of PostgreSQL where there is one.
  static var allCases: [MoveWay] {
    [.fileToFile]
      + (TestDatabase.address == nil
        ? [] : [.fileToDatabase, .databaseToFile, .databaseToDatabase])
  }

  /// Those that matter most, where a test takes long.
  static var across: [MoveWay] { allCases.filter { $0 != .databaseToDatabase } }

  var testDescription: String {
    switch self {
    case .fileToFile: "from a file to a file"
    case .fileToDatabase: "from a file to PostgreSQL"
    case .databaseToFile: "from PostgreSQL to a file"
    case .databaseToDatabase: "from PostgreSQL to another schema"
    }
  }

  fileprivate var ends: (StoreKind, StoreKind) {
    switch self {
    case .fileToFile: (.sqlite, .sqlite)
    case .fileToDatabase: (.sqlite, .postgreSQL)
    case .databaseToFile: (.postgreSQL, .sqlite)
    case .databaseToDatabase: (.postgreSQL, .postgreSQL)
    }
  }
}

/// Two stores, of which the first has spaces that went through all that a server does with one.
/// When they go, nothing broken is found in them.
struct MovingStores {
  static let shed = SpaceName(stored: "shed")
  static let spaces = [SpaceName.home, .work, shed]
  static let eve = Author(9).replica

  let source: StoreUnderTest
  let target: StoreUnderTest
  /// Who has written into `home`, as far as they are.
  var (ada, bob) = (Author(1), Author(2))
  /// Opens `home`.
  private(set) var token = ""

  var from: any MovableStore { Self.movable(source) }
  var to: any MovableStore { Self.movable(target) }

  static func movable(_ test: StoreUnderTest) -> any MovableStore {
    guard let store = test.store as? any MovableStore else {
      fatalError("files and databases move")
    }
    return store
  }

  /// - Parameter others: whether there are other spaces than `home`.
  init(_ way: MoveWay, others: Bool = false) throws {
    source = try way.ends.0.open()
    target = try way.ends.1.open(seed: 2)
    let service = service(of: source)
    var generator = SeededGenerator(state: 4)
    token = try service.createToken(for: .home, using: &generator)
    _ = try service.createToken(for: .home, of: MemberName("anna"), using: &generator)
    _ = try service.createToken(
      for: .home, label: TokenLabel("key by the door"),
      expires: source.clock.clock.now(after: .seconds(3_600)), using: &generator)
    try fillHome(service)
    if others {
      _ = try service.createToken(for: .work, using: &generator)
      try fillWork(service)
      try fillShed(service)
    }
    // What is done in the target has the time of the source.
    target.clock.now = source.clock.now
  }

  /// - Parameter limits: little goes into a transaction, so that there are several of each kind.
  func service(of test: StoreUnderTest) -> SpaceService { test.service(Self.limit) }

  private static func limit(_ limits: inout ServerLimits) {
    (limits.retention, limits.trimmedAge) = (.seconds(64), .seconds(32))
    limits.trimmedOperations = 3
  }

  func move(
    _ space: SpaceName = .home, willDo: @escaping (SpaceMove.Step) throws -> Void = { _ in }
  ) -> SpaceMove {
    var limits = ServerLimits()
    Self.limit(&limits)
    let (source, target) = (source, target)
    return SpaceMove(
      space, from: from, to: to, limits: limits,
      willDo: { step in
        // The stores are there as long as the move.
        try withExtendedLifetime((source, target)) { try willDo(step) }
      })
  }

  /// Operations without bytes, trimmed ones that have some, and others; snapshots of every kind.
  private mutating func fillHome(_ service: SpaceService) throws {
    let clock = source.clock
    _ = try service.push(ada.write(count: 3, bytes: 20), to: .home)
    _ = try service.push(bob.write(count: 2), to: .home)
    try passEverybody(service)
    try service.upload(SnapshotOffer("a", at: service.end(), of: [ada, bob]))
    clock.now += 64_000
    try maintain(service)
    let anna = try MemberName("anna")
    try service.claim(Author(12).replica, by: anna, in: .home)
    try service.ban(Author(8).replica, in: .home)
    clock.now += 32_000
    try maintain(service)
    _ = try service.push([ada.write("begin", continues: true), ada.fragment("end")], to: .home)
    _ = try service.push([bob.write("b")], to: .home, by: anna)
    try passEverybody(service)
    try service.upload(SnapshotOffer("b", at: service.end(), of: [ada, bob]))
    _ = try service.push(ada.write(count: 2, bytes: 40), to: .home)
    try passEverybody(service)
    try service.upload(SnapshotOffer("c", at: service.end(), of: [ada, bob], version: 2))
    clock.now += 64_000
    try maintain(service)
    _ = try service.push([ada.write("d")], to: .home)
    try beginUploads(service)
    let report = StateReport(
      replica: ada.replica, cursor: try service.end(), operations: 1,
      tables: ["book": .init(shape: 1, rows: 7)])
    try service.report(report, in: .home)
    try service.setQuota(SpaceQuota(bytes: 1_000_000, authors: 9, share: 60), of: .home)
    _ = try service.refill(.home)
  }

  private func passEverybody(_ service: SpaceService) throws {
    _ = try service.pull(from: .home, after: service.end(), excluding: Self.eve)
  }

  /// One that has a part, and one that was refused.
  private func beginUploads(_ service: SpaceService) throws {
    let end = try service.end()
    let begun = SnapshotOffer("d", at: end, of: [ada, bob], version: 2)
    let upload = try service.beginSnapshot(begun, in: .home)
    try service.putSnapshotPart(
      try begun.partsWithoutRows()[1], index: 1, of: upload.id, in: .home)
    let wrong = try service.beginSnapshot(
      SnapshotOffer("e", at: end, of: [ada, bob], version: 2), in: .home)
    for index in 0..<2 { try service.putSnapshotPart([7], index: index, of: wrong.id, in: .home) }
    #expect(refusal { try service.completeSnapshot(wrong.id, in: .home) } != nil)
  }

  /// A base, operations that follow it, and the beginning of a group.
  private func fillWork(_ service: SpaceService) throws {
    var (dan, fay) = (Author(5), Author(6))
    _ = dan.write(count: 5)
    try service.upload(SnapshotOffer("base", at: nil, of: [dan], isBase: true), to: .work)
    _ = try service.push(dan.write(count: 2), to: .work)
    _ = try service.push([fay.write("half", continues: true)], to: .work)
  }

  /// A base that was dropped, and what its author wrote behind it. It is suspended.
  private func fillShed(_ service: SpaceService) throws {
    var (gil, hal) = (Author(7), Author(10))
    _ = gil.write()
    let base = try service.upload(
      SnapshotOffer(at: nil, of: [gil], isBase: true), to: Self.shed)
    _ = try service.push([gil.write(), hal.write()], to: Self.shed)
    try service.dropSnapshot(base, in: Self.shed)
    try maintain(service, Self.shed)
    try service.asOperator.suspend(Self.shed)
  }
}

extension MovableStore {
  /// Says where a space stands, as a move does.
  func place(_ standing: SpaceStanding, of space: SpaceName = .home) throws {
    try updateRows(of: space) { try $1.set(standing) }
  }
}

/// Stands for a process that dies before a step.
struct Killed: Error {}
#endif
