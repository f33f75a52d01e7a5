import GRDB
import Tern
import TernTesting
import TestDevice

extension Scenario<App> {
  private static let copied = App.Setup(logRetention: .seconds(-60), id: 1 << 40)

  /// A copy of a file wrote on, finds its numbers taken, and goes on under another id (0028).
  ///
  /// - Parameter isTrimmed: whether the log lacks its beginning, so that states are renamed in place and
  ///   not made anew from it (0030).
  static func copy(isTrimmed: Bool) throws -> Scenario {
    let peer = try Device(2 << 40)
    try peer.write(Catalogue.shelf("s1"), Catalogue.books(0..<8, on: "s1"))
    let page = try peer.page(after: VersionVector(), cursor: "1")
    let space = try pushedByTheOther(page)
    let (former, reader) = (ReplicaID(high: 0, low: copied.id), try Device(3 << 40))
    return app(
      isTrimmed ? "copy-with-trimmed-log" : "copy", copied,
      prepare: { app in
        try common(app, page)
        guard isTrimmed else { return }
        try app.store.trim(heldBy: app.store.versionVector(), at: "peer")
      },
      steps: [
        sql("UPDATE book SET title = 'here', loans = loans + 1 WHERE id < 'b5'"),
        Step(name: "take an id") { app in
          guard try app.store.changeID(from: former, after: 2, at: "peer") != nil else {
            throw Violation(.drains, "the copy keeps an id that it cannot push under")
          }
        },
        Step(name: "push again") { app in
          let lacked = try app.store.offer(
            lackedBy: space.page.operations.heads, repeating: [], maximumBytes: .max, to: "peer")
          guard lacked.map(\.envelope.sequence) == [1] else {
            throw Violation(.localWritesStay, "the copy's own operation is not offered again")
          }
        },
      ],
      check: { app in
        let store = try app.store
        guard try store.place(at: "peer")?.cursor == nil else {
          throw Violation(.cursorFollowsState, "a new id pulls from the middle")
        }
        try space.merge(into: app)
        _ = try reader.store.merge(
          space.page, from: RemotePlace(remoteID: "peer", epoch: "e", cursor: space.page.cursor))
        try expectConverged(app, with: reader)
        let shown = try store.database.read { db in
          try String.fetchAll(db, sql: "SELECT title || loans FROM book ORDER BY id")
        }
        let (mine, others) = (Array(repeating: "here1", count: 5), ["two0", "other0", "other0"])
        guard shown == mine + others, try store.counts().forks.isEmpty else {
          throw Violation(.localWritesStay, "of both copies' writes is shown: \(shown)")
        }
      })
  }

  /// What both copies of a file have.
  private static func common(_ app: App, _ page: Page) throws {
    try app.open()
    try page.merge(into: app)
    for title in ["one", "two"] {
      try app.store.write { try $0.execute(sql: "UPDATE book SET title = '\(title)'") }
    }
    try app.store.noteAccepted(of: 1, by: "peer")
  }

  /// What the space has once the other copy has pushed, which wrote on under the numbers of this one.
  private static func pushedByTheOther(_ page: Page) throws -> Page {
    let app = App(try Disk(), copied)
    defer { app.abandon() }
    try common(app, page)
    try app.store.write { db in
      try db.execute(sql: "UPDATE book SET title = 'other' WHERE id > 'b5'")
    }
    return Page(
      page: PulledPage(
        operations: try app.store.operations(lackedBy: VersionVector(), maximumBytes: .max),
        cursor: RemoteCursor(rawValue: "2"), hasMore: false, now: nil))
  }
}
