import GRDB
import Tern
import TernDatabase
import TernTesting
import TestDevice

extension Scenario<App> {
  /// A snapshot takes the place of rows that are older, of one that it lacks, of what is sealed here
  /// and was never pushed, and of what is not sealed yet.
  static func snapshot() throws -> Scenario {
    let peer = try Device(2)
    try peer.write(Catalogue.shelf("s1"), Catalogue.books(0..<8, on: "s1"))
    let first = try peer.page(after: VersionVector(), cursor: "0")
    try peer.write(
      Catalogue.shelf("s2"), Catalogue.books(100..<106, on: "s2"),
      "UPDATE book SET title = 'there', loans = loans + 3 WHERE id < 'b4'",
      "DELETE FROM book WHERE id = 'b5'")
    let (heads, cut) = (try peer.heads(), try Cut(of: peer))
    let place = RemotePlace(remoteID: "peer", epoch: "e", cursor: RemoteCursor(rawValue: "s"))
    // Few pages, so that what is loaded is on the disk long before its commit.
    return app(
      "snapshot-load", App.Setup(cachePages: 20),
      prepare: { app in
        try app.open()
        try first.merge(into: app)
        try app.store.write { db in
          try db.execute(
            sql: """
              UPDATE book SET title = 'here', loans = loans + 1 WHERE id < 'b2';
              INSERT INTO book (id, shelf, title) VALUES ('c1', 's1', 'sealed')
              """)
        }
      },
      steps: [
        sql("INSERT INTO book (id, shelf, title) VALUES ('c2', 's1', 'noted')"),
        Step(name: "load the beginning") { try cut.loadBeginning(into: $0, place) },
        Step(name: "load") { try cut.load(into: $0, place) },
      ],
      check: { app in
        let store = try app.store
        let own = try store.operations(lackedBy: heads, maximumBytes: .max)
        guard own.map(\.envelope.sequence) == [1, 2] else {
          throw Violation(.localWritesStay, "of what was never pushed is left: \(own.count)")
        }
        guard try store.place(at: "peer") == place, try store.versionVector().covers(heads) else {
          throw Violation(.cursorFollowsState, "the snapshot is loaded and its cursor elsewhere")
        }
        try expectConverged(app, with: peer)
      })
  }

  /// The log forgets what both of two remotes hold, and not what one of them lacks.
  static func trimming() throws -> Scenario {
    let peer = try Device(2)
    try peer.write(
      Catalogue.shelf("s1"), Catalogue.books(0..<6, on: "s1"), Catalogue.books(6..<9, on: "s1"))
    let (page, id) = (try peer.page(after: VersionVector(), cursor: "1"), try peer.heads())
    @Sendable func heads(_ app: App, own: UInt64, others: UInt64) throws -> VersionVector {
      var heads = VersionVector(id.sequences.mapValues { _ in others })
      heads[try app.store.replicaID()] = own
      return heads
    }
    @Sendable func trim(_ remote: String, own: UInt64, others: UInt64) -> Step {
      Step(name: "\(remote) has \(own) and \(others)") { app in
        try app.store.trim(heldBy: heads(app, own: own, others: others), at: remote)
      }
    }
    @Sendable func update(_ title: String) -> Step {
      Step(name: "write \(title)") { app in
        try app.store.write { try $0.execute(sql: "UPDATE book SET title = '\(title)'") }
      }
    }
    @Sendable func prepare(_ app: App) throws {
      try app.open()
      try page.merge(into: app)
      for title in ["one", "two", "three"] { try update(title).run(app) }
      try app.store.resetPlace(RemotePlace(remoteID: "other", epoch: "o", cursor: nil))
    }
    // Time stands still, and what is not a minute in the future is old.
    let setup = App.Setup(logRetention: .seconds(-60))
    return app(
      "log-trim", setup, prepare: prepare,
      steps: [
        Step(name: "acknowledge") { try $0.store.noteAccepted(of: 3, by: "peer") },
        trim("peer", own: 3, others: 3), trim("other", own: 2, others: 3), update("four"),
        trim("other", own: 3, others: 3),
      ],
      check: { app in
        let (store, held) = (try app.store, try heads(app, own: 3, others: 3))
        let lacked = try store.operations(lackedBy: held, maximumBytes: .max)
        guard try !store.hasTrimmed(lackedBy: held), lacked.map(\.envelope.sequence) == [4],
          try !store.hasTrimmed(lackedBy: heads(app, own: 2, others: 2))
        else { throw Violation(.compactionIsUnseen, "the log lacks what a remote lacks") }
        guard try store.hasTrimmed(lackedBy: heads(app, own: 1, others: 3)),
          try store.hasTrimmed(lackedBy: heads(app, own: 2, others: 1))
        else { throw Violation(.limitsHold, "the log keeps what every remote has") }
        let whole = App(try Disk(), setup)
        defer { whole.abandon() }
        try prepare(whole)
        try update("four").run(whole)
        guard try store.canonicalState() == whole.store.canonicalState() else {
          throw Violation(.compactionIsUnseen, "trimming the log changed the state")
        }
      })
  }
}

/// A snapshot of a peer's, in its parts.
private struct Cut: Sendable {
  let parts: [[UInt8]]

  init(of peer: Device) throws {
    var parts: [[UInt8]] = []
    _ = try peer.store.cutSnapshot { parts.append($0) }
    self.parts = parts
  }

  /// As an engine does: from a file that outlives the process, with what that has already. No fault
  /// reaches it: its writes go past SQLite and are never synced, and its reader finds what is damaged.
  func load(into app: App, _ place: RemotePlace) throws {
    let file = try PartFile(app.disk.path("snapshot.parts"), key: "key")
    for part in parts[file.count...] { try file.append(part) }
    _ = try app.store.loadSnapshot(from: place) { try file.part($0) }
    file.remove()
  }

  /// All but the end, which is found to be missing when everything before it is written.
  func loadBeginning(into app: App, _ place: RemotePlace) throws {
    let (store, parts) = (try app.store, parts.dropLast())
    let before = try store.storedVersionVector()
    do {
      _ = try store.loadSnapshot(from: place) { $0 < parts.count ? parts[$0] : nil }
      throw Violation(.operationsAreAtomic, "a snapshot without its end was loaded")
    } catch let error as SnapshotError where error.code == .incomplete {
      guard try store.storedVersionVector() == before else {
        throw Violation(.operationsAreAtomic, "a snapshot that was refused is there in part")
      }
    }
  }
}
