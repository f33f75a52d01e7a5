import GRDB
import Tern
import TestDevice

extension Scenario<App> {
  private static let open = Step(name: "open", isAtomic: false) { try $0.open() }

  static let firstOpen = Scenario(
    name: "first-open", startsOpen: false, prepare: { _ in }, makeSubject: { App($0) },
    steps: [open])

  /// The app had its tables before it had a replica.
  static let adoption = Scenario(
    name: "open-and-adopt", startsOpen: false,
    prepare: { disk in
      let database = try DatabasePool(path: disk.path(App.fileName))
      try database.write { db in
        for table in Catalogue.creation { try db.execute(sql: table) }
        try db.execute(sql: Catalogue.shelf("s1"))
        try db.execute(sql: Catalogue.books(0..<30, on: "s1"))
      }
      try database.close()
    },
    makeSubject: { App($0, App.Setup(migrations: [])) },
    steps: [Step(name: "open") { try $0.open() }],
    check: { app in
      let operations = try app.store.operations(lackedBy: VersionVector(), maximumBytes: .max)
      guard operations.count == 1 else { throw App.NotOpen() }
    })

  /// The app's next version renames a column, drops one and adds one by rebuilding the table, while
  /// notes wait for a seal and an operation for the new column.
  static func migration() throws -> Scenario {
    let schema = SyncSchema(
      version: 2,
      tables: [
        SyncTable("shelf"),
        SyncTable(
          "book", merge: ["loans": .counter], formerColumnNames: ["heading": "title"]),
      ])
    let rebuild = [
      """
      CREATE TABLE book_new (
        id TEXT PRIMARY KEY NOT NULL, shelf TEXT REFERENCES shelf (id), heading TEXT,
        loans INTEGER NOT NULL DEFAULT 0, place TEXT);
      INSERT INTO book_new (id, shelf, heading, loans) SELECT id, shelf, title, loans FROM book;
      DROP TABLE book; ALTER TABLE book_new RENAME TO book;
      """,
      "UPDATE shelf SET name = name || '!'",
    ]
    let peer = try Device(2, schema: schema, tables: Catalogue.creation + rebuild)
    try peer.write(
      Catalogue.shelf("p1"),
      "INSERT INTO book (id, shelf, heading, place) VALUES ('p1', 'p1', 'of the peer', 'left')")
    let page = try peer.page(after: VersionVector(), cursor: "1")
    return Scenario(
      name: "migration", startsOpen: false,
      prepare: { disk in
        let app = App(disk)
        try app.open()
        try furnish(app)
        try page.merge(into: app)
        try app.execute("UPDATE book SET loans = loans + 1, title = 'noted' WHERE id < 'b15'")
        app.abandon()
      },
      makeSubject: { disk in
        App(disk, App.Setup(schema: schema, migrations: Catalogue.creation + rebuild))
      },
      steps: [open],
      check: { app in
        let shown = try app.store.database.read { db in
          try String.fetchOne(db, sql: "SELECT place FROM book WHERE id = 'p1'")
        }
        guard shown == "left" else { throw App.NotOpen() }
      })
  }
}
