import GRDB
import Tern

extension Scenario<App> {
  static func app(
    _ name: String, _ setup: App.Setup = App.Setup(),
    prepare: @escaping @Sendable (App) throws -> Void = { _ in }, steps: [Step],
    check: @escaping @Sendable (App) throws -> Void = { _ in }
  ) -> Scenario<App> {
    Scenario(
      name: name,
      prepare: { disk in
        let app = App(disk, setup)
        try app.open()
        try prepare(app)
        app.abandon()
      },
      makeSubject: { App($0, setup) }, steps: steps, check: check)
  }

  static func sql(_ sql: String) -> Step {
    Step(name: String(sql.prefix(40))) { try $0.execute(sql) }
  }

  private static let seal = Step(name: "seal") { _ = try $0.store.seal() }

  /// Shelves and books that everything after builds on.
  static let furnish: @Sendable (App) throws -> Void = { app in
    try app.execute(Catalogue.shelf("s1"))
    try app.execute(Catalogue.books(0..<20, on: "s1"))
    _ = try app.store.seal()
  }

  // MARK: - Writing

  static let appWrites = app(
    "app-writes-and-seals", prepare: furnish,
    steps: [
      sql(Catalogue.books(100..<120, on: "s1")), seal,
      sql("UPDATE book SET loans = loans + 2, edition = 3 WHERE id < 'b12'"),
      seal, sql("DELETE FROM book WHERE id > 'b3'"), seal,
    ])

  static let replicaWrites = app(
    "replica-write", prepare: furnish,
    steps: [
      Step(name: "write rows") { app in
        try app.store.write { db in
          try db.execute(sql: Catalogue.shelf("s2"))
          try db.execute(sql: Catalogue.books(100..<120, on: "s2"))
        }
      },
      Step(name: "change and delete") { app in
        try app.store.write { db in
          try db.execute(sql: "UPDATE book SET loans = loans + 1, title = 'new'")
          try db.execute(sql: "DELETE FROM book WHERE id > 'b12'")
        }
      },
    ])

  /// What an engine stores about its remote: the clock's difference, the cursor's end, new times.
  static let remoteNews = app(
    "clock-place-and-new-times", prepare: furnish,
    steps: [
      Step(name: "correct the clock") { app in
        _ = try app.store.correctClock(nowMilliseconds: 1_700_000_000_000)
      },
      Step(name: "forget the cursor") { app in
        try app.store.resetPlace(RemotePlace(remoteID: "peer", epoch: "f", cursor: nil))
      },
      Step(name: "give new times") { app in
        try app.store.restamp(after: 1, at: "r", nowMilliseconds: 1_700_000_000_000)
      },
      sql("UPDATE book SET title = 'later'"), seal,
    ])

  // MARK: - The file

  /// Commits that move the log into the file, and a program that does so and leaves.
  static let checkpoints = app(
    "checkpoints", App.Setup(checkpointPages: 4), prepare: furnish,
    steps: [
      sql(Catalogue.books(100..<120, on: "s1")), seal,
      Step(name: "checkpoint") { app in
        _ = try app.store.database.writeWithoutTransaction { try $0.checkpoint(.truncate) }
      },
      sql("UPDATE book SET loans = loans + 1"), seal,
      Step(name: "close and open", isAtomic: false) { app in
        app.abandon()
        try app.open()
      },
      sql("DELETE FROM book WHERE id > 'b12'"), seal,
    ])

  static let journal = app(
    "rollback-journal", App.Setup(usesJournal: true), prepare: furnish,
    steps: [
      sql(Catalogue.books(100..<120, on: "s1")), seal,
      Step(name: "write") { app in
        try app.store.write { try $0.execute(sql: "UPDATE book SET loans = loans + 1") }
      },
    ])
}
