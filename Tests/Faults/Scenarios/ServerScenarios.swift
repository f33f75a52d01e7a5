#if Server
import Foundation
import GRDB
import Tern
import TernTesting

@testable import TernServer
import TestDevice

/// A server's store, in the file that it makes itself.
final class Server: Program {
  static let fileName = "server.tern"

  let disk: Disk
  private var store: SQLiteSpaceStore?

  init(_ disk: Disk) { self.disk = disk }

  func open() throws {
    if store != nil { return }
    var generator = SeededGenerator(seed: 1)
    // What the server looks at before SQLite does.
    for suffix in ["", "-journal"] { try disk.showHead(of: Self.fileName + suffix) }
    store = try SQLiteSpaceStore(path: disk.path(Self.fileName), using: &generator)
  }

  private func opened() throws -> SQLiteSpaceStore {
    guard let store else { throw App.NotOpen() }
    return store
  }

  func service() throws -> SpaceService {
    var limits = ServerLimits()
    limits.retention = .zero
    return SpaceService(
      store: try opened(), clock: ServerClock { Date(milliseconds: 1_800_000_000_000) },
      limits: limits)
  }

  func settings() throws -> [String] {
    ["synchronous \(try opened().synchronousSetting() ?? -1)"]
  }

  /// What the doctor finds broken in the file.
  func findings() throws -> [DatabaseFinding] {
    try opened().pool.read { try DatabaseDiagnosis($0, other: ServerDoctor.look).findings }
  }

  static func isDisk(_ error: any Error) -> Bool { (error as? StoreError)?.code == .inaccessible }

  func abandon() {
    try? store?.close()
    store = nil
  }
}

extension Scenario<Server> {
  static let serverOpen = Scenario(
    name: "server-first-open", startsOpen: false, looksBeforeOpening: false, prepare: { _ in },
    makeSubject: { Server($0) }, steps: [Step(name: "open", isAtomic: false) { try $0.open() }])

  /// Uploads a snapshot and trims what it stands for; a completion is two transactions.
  static func serverKeeping() throws -> Scenario {
    let space = SpaceName(stored: "home")
    let peer = try Device(2)
    try peer.write(Catalogue.shelf("s1"), Catalogue.books(0..<40, on: "s1"))
    let operations = try peer.page(after: VersionVector(), cursor: "1").page.operations
    let heads = operations.map(\.envelope).reduce(into: [ReplicaID: SnapshotHead]()) {
      $0[$1.replica] = SnapshotHead(sequence: $1.sequence, time: $1.time)
    }
    var cut: [[UInt8]] = []
    _ = try peer.store.cutSnapshot { cut.append($0) }
    let parts = cut
    @Sendable func begin(_ server: Server) throws -> String {
      let cursor = try server.service().pull(from: space, after: nil).cursor
      let offer = SnapshotOffer(key: "k", parts: parts.count, cursor: cursor, heads: heads)
      return try server.service().beginSnapshot(offer, in: space).id
    }
    return Scenario(
      name: "server-keeping", looksBeforeOpening: false,
      prepare: { disk in
        let server = Server(disk)
        try server.open()
        _ = try server.service().push(operations, to: space)
        server.abandon()
      },
      makeSubject: { Server($0) },
      steps: [
        Step(name: "begin") { _ = try begin($0) },
        Step(name: "part") { server in
          let id = try begin(server)
          try server.service().putSnapshotPart(parts[0], index: 0, of: id, in: space)
        },
        Step(name: "complete", isAtomic: false) { server in
          let id = try server.service().greet(space).snapshot?.id ?? begin(server)
          for (index, part) in parts.enumerated() {
            try server.service().putSnapshotPart(part, index: index, of: id, in: space)
          }
          try server.service().completeSnapshot(id, in: space)
        },
      ],
      check: { server in
        let greeting = try server.service().greet(space)
        guard let id = greeting.snapshot?.id, greeting.trimmed == greeting.position,
          try server.service().snapshotPart(0, of: id, in: space) == parts[0],
          try server.service().push(operations, to: space).accepted == 0,
          try server.findings().isEmpty
        else { throw App.NotOpen() }
      })
  }

  static func serverPush() throws -> Scenario {
    let space = SpaceName(stored: "home")
    let peer = try Device(2)
    try peer.write(Catalogue.shelf("s1"), Catalogue.books(0..<40, on: "s1"))
    let heads = try peer.heads()
    let first = try peer.page(after: VersionVector(), cursor: "1").page.operations
    try peer.write("UPDATE book SET loans = 1", "DELETE FROM book WHERE id > 'b3'")
    let second = try peer.page(after: heads, cursor: "2").page.operations
    return Scenario(
      name: "server-push", looksBeforeOpening: false,
      prepare: { disk in
        let server = Server(disk)
        try server.open()
        server.abandon()
      },
      makeSubject: { Server($0) },
      steps: [
        Step(name: "push") { _ = try $0.service().push(first, to: space) },
        Step(name: "token") { server in
          var generator = SeededGenerator(seed: 2)
          _ = try server.service().createToken(for: space, using: &generator)
        },
        Step(name: "push more") { _ = try $0.service().push(second, to: space) },
      ],
      check: { server in
        let pulled = try server.service().pull(from: space, after: nil).operations
        guard pulled == first + second, try server.findings().isEmpty else { throw App.NotOpen() }
      })
  }
}
#endif
