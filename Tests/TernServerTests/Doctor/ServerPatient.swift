#if Server
import Foundation
import GRDB
import Tern
import TernServer

/// A server's file that went through all that a server does with one, and that a test breaks.
final class ServerPatient {
  static let (ada, bob, eve) = (Author(1).replica, Author(2).replica, Author(9).replica)

  let folder: TemporaryFolder
  var path: String { folder.path("server.tern") }
  let store: SQLiteSpaceStore
  let clock = HandClock()
  let service: SpaceService
  /// Who has written into the space `work`, as far as they are.
  private(set) var fay = Author(6)
  /// Of the upload that is not whole, of which the second is there.
  private(set) var begunParts: [[UInt8]] = []

  init() throws {
    folder = try TemporaryFolder()
    store = try openStore(folder.path("server.tern"))
    var limits = ServerLimits()
    (limits.retention, limits.trimmedAge) = (.seconds(64), .seconds(32))
    service = SpaceService(store: store, clock: clock.clock, limits: limits)
    var generator = SeededGenerator(state: 4)
    for space in [SpaceName.home, .work, SpaceName(stored: "gone")] {
      _ = try service.createToken(for: space, using: &generator)
    }
    try fillHome()
    try fillWork()
    try fillGone()
  }

  /// Five operations that are trimmed, four that are not, two snapshots, an upload and a report.
  private func fillHome() throws {
    var (ada, bob) = (Author(1), Author(2))
    _ = try service.push(ada.write(count: 3, bytes: 20), to: .home)
    _ = try service.push(bob.write(count: 2), to: .home)
    let first = try service.end()
    _ = try service.pull(from: .home, after: first, excluding: Self.eve)
    try service.upload(SnapshotOffer("a", at: first, of: [ada, bob], parts: 2))
    clock.now += 64_000
    try maintain(service)
    try service.claim(Author(12).replica, by: MemberName("eve"), in: .home)
    try service.ban(Author(8).replica, in: .home)
    clock.now += 32_000
    try maintain(service)
    _ = try service.push([ada.write("begin", continues: true), ada.fragment("end")], to: .home)
    _ = try service.push([bob.write("b")], to: .home)
    let second = try service.end()
    _ = try service.pull(from: .home, after: second, excluding: Self.eve)
    try service.upload(SnapshotOffer("b", at: second, of: [ada, bob]))
    _ = try service.push([ada.write("c")], to: .home)
    let end = try service.end()
    let offer = SnapshotOffer("c", at: end, of: [ada, bob])
    let begun = try service.beginSnapshot(offer, in: .home)
    begunParts = try offer.partsWithoutRows()
    try service.putSnapshotPart(begunParts[1], index: 1, of: begun.id, in: .home)
    try service.report(report(at: end, rows: 1), in: .home)
  }

  /// A base, two operations that follow it, and the beginning of a group.
  private func fillWork() throws {
    var dan = Author(5)
    _ = dan.write(count: 5)
    try service.upload(SnapshotOffer("base", at: nil, of: [dan], isBase: true), to: .work)
    _ = try service.pull(
      from: .work, after: service.end(of: .work), excluding: dan.replica)
    _ = try service.push(dan.write(count: 2), to: .work)
    _ = try service.push([fay.write("half", continues: true)], to: .work)
  }

  private func fillGone() throws {
    var dan = Author(5)
    let gone = SpaceName(stored: "gone")
    _ = try service.push(dan.write(count: 2), to: gone)
    try service.upload(SnapshotOffer(at: service.end(of: gone), of: [dan]), to: gone)
    _ = try service.pull(from: gone, after: nil, excluding: Self.eve)
    try service.removeSpace(gone)
  }

  func report(at cursor: RemoteCursor, rows: UInt64) -> StateReport {
    StateReport(
      replica: Self.ada, cursor: cursor, operations: 1,
      tables: ["book": .init(shape: 1, rows: rows)])
  }

  /// Changes the file as no program of Tern's would.
  func harm(_ sql: String) throws {
    let queue = try DatabaseQueue(path: path)
    try queue.writeWithoutTransaction { db in
      try db.execute(sql: "PRAGMA foreign_keys = OFF")
      try db.inTransaction {
        try db.execute(sql: sql)
        return .commit
      }
    }
    try queue.close()
  }

  func diagnosis() throws -> DatabaseDiagnosis {
    try DatabaseDiagnosis(path: path, other: ServerDoctor.look)
  }

  /// The checks that found something.
  func findings() throws -> Set<String> { Set(try diagnosis().findings.map(\.check)) }
  func remarks() throws -> Set<String> { Set(try diagnosis().remarks.map(\.check)) }
}
#endif
