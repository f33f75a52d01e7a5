import GRDB
import Tern
import TernTesting
import TestDevice

extension Scenario<App> {
  /// A server's clock was ahead and is set right. What this device wrote under it is refused and gets
  /// new times, but for what is not later than what another device got accepted (0033).
  static func clockAhead() throws -> Scenario {
    let (now, ahead) = (1_800_000_000_000 as Int64, 1_900_000_000_000 as Int64)
    let peer = try Device(2)
    try peer.write(Catalogue.shelf("s1"), Catalogue.books(0..<12, on: "s1"))
    let first = try peer.page(after: VersionVector(), cursor: "1")
    let heads = try peer.heads()
    _ = try peer.store.correctClock(nowMilliseconds: ahead + 1000)
    try peer.write("UPDATE book SET title = 'accepted' WHERE id < 'b5'")
    let second = try peer.page(after: heads, cursor: "2")
    let newest = second.page.operations.map(\.envelope.time).max()!
    @Sendable func correct(_ milliseconds: Int64) -> Step {
      Step(name: "correct the clock to \(milliseconds)") { app in
        _ = try app.store.correctClock(nowMilliseconds: milliseconds)
      }
    }
    @Sendable func update(_ title: String) -> Step {
      Step(name: "write \(title)") { app in
        try app.store.write { db in
          try db.execute(sql: "UPDATE book SET title = '\(title)', loans = loans + 1")
        }
      }
    }
    return app(
      "refused-times",
      prepare: { app in
        try app.open()
        try first.merge(into: app)
        try update("before").run(app)
        try app.store.noteAccepted(of: 1, by: "peer")
        try correct(ahead).run(app)
        try update("loses").run(app)
        try second.merge(into: app)
        try correct(ahead + 86_400_000).run(app)
        try update("refused").run(app)
      },
      steps: [
        correct(now),
        Step(name: "give new times") { app in
          try app.store.restamp(after: 1, at: "peer", nowMilliseconds: now)
        },
        update("last"),
      ],
      check: { app in
        let id = try app.store.replicaID()
        let times = try app.store.operations(lackedBy: VersionVector(), maximumBytes: .max)
          .map(\.envelope).filter { $0.replica == id }.map(\.time)
        guard times.count == 4, zip(times, times.dropFirst()).allSatisfy(<) else {
          throw Violation(.timesIncrease, "own times are \(times)")
        }
        guard times[1] < newest, newest < times[2], times[3].milliseconds <= newest.milliseconds + 1
        else { throw Violation(.drains, "\(times) is refused, where \(newest) was accepted") }
        try expectConverged(app, with: peer)
      })
  }
}
