import GRDB
import Tern
import TestDevice

extension Scenario<App> {
  /// An app that has what a peer has, and pages that the peer makes one after the other.
  private static func merge(
    _ name: String, tables: [String] = [], local: [String] = [], pages: [[String]]
  ) throws -> Scenario {
    let setup = App.Setup(migrations: Catalogue.creation + tables)
    let peer = try Device(2)
    try peer.write(Catalogue.shelf("s1"), Catalogue.books(0..<20, on: "s1"))
    let first = try peer.page(after: VersionVector(), cursor: "0")
    // A program that starts again seals, so what a page is to meet unsealed is one transaction.
    var steps = local.map { sql in Step(name: String(sql.prefix(40))) { try $0.execute(sql) } }
    for (index, statements) in pages.enumerated() {
      let heads = try peer.heads()
      for statement in statements { try peer.write(statement) }
      let page = try peer.page(after: heads, cursor: "\(index + 1)")
      steps.append(Step(name: "page \(index + 1)") { try page.merge(into: $0) })
    }
    return Scenario(
      name: name,
      prepare: { disk in
        let app = App(disk, setup)
        try app.open()
        try first.merge(into: app)
        app.abandon()
      },
      makeSubject: { App($0, setup) }, steps: steps, check: { try expectConverged($0, with: peer) })
  }

  /// INV-01, of the untouched run: every other run has the same rows.
  static func expectConverged(_ app: App, with peer: Device) throws {
    let store = try app.store
    try store.seal()
    let operations = try store.operations(lackedBy: peer.heads(), maximumBytes: .max)
    try peer.merge(operations, from: "app")
    guard try peer.store.canonicalState() == store.canonicalState() else {
      throw Violation(.convergence, "app and peer differ although no fault was there")
    }
  }

  static func newRows() throws -> Scenario {
    try merge(
      "merge-new-rows",
      pages: [
        [Catalogue.shelf("s2"), Catalogue.books(100..<120, on: "s2")],
        [Catalogue.books(200..<215, on: "s1"), "UPDATE book SET edition = 4 WHERE id < 'b12'"],
      ])
  }

  /// The app changed what the page changes too, and has not sealed it yet.
  static func conflicts() throws -> Scenario {
    try merge(
      "merge-conflicts-and-notes",
      local: [
        """
        UPDATE book SET title = 'here', loans = loans + 1, edition = 2;
        INSERT INTO book (id, shelf, title) VALUES ('c1', 's1', 'here')
        """
      ],
      pages: [
        [
          "UPDATE book SET title = 'there', loans = loans + 3, edition = 9 WHERE id < 'b15'",
          "INSERT INTO book (id, shelf, title) VALUES ('c1', 's1', 'there')",
        ]
      ])
  }

  /// Books whose shelf the app has deleted are quarantined; the peer's deletes hold others.
  static func held() throws -> Scenario {
    try merge(
      "merge-held-rows",
      local: ["UPDATE book SET shelf = NULL; DELETE FROM shelf WHERE id = 's1'"],
      pages: [
        [Catalogue.books(100..<110, on: "s1")],
        [Catalogue.shelf("s2"), Catalogue.books(110..<115, on: "s2")],
        ["UPDATE book SET shelf = 's2' WHERE id > 'b105'"],
      ])
  }

  static func deletes() throws -> Scenario {
    try merge(
      "merge-deletes",
      local: ["UPDATE book SET title = 'kept?' WHERE id = 'b1'"],
      pages: [
        ["DELETE FROM book WHERE id < 'b15'", Catalogue.books(0..<2, on: "s1")],
        ["DELETE FROM book; DELETE FROM shelf"],
      ])
  }

  /// A trigger of the app's that mirrors, and one that writes to a synced table, without which the
  /// merge runs.
  static func triggers() throws -> Scenario {
    try merge(
      "merge-with-app-triggers",
      tables: [
        "CREATE TABLE log (book TEXT)",
        """
        CREATE TRIGGER logging AFTER INSERT ON book BEGIN
          INSERT INTO log VALUES (NEW.id);
        END
        """,
        """
        CREATE TRIGGER renaming AFTER INSERT ON book BEGIN
          UPDATE shelf SET name = name || '+' WHERE id = NEW.shelf;
        END
        """,
      ],
      pages: [[Catalogue.books(100..<120, on: "s1")], ["UPDATE shelf SET name = 'last'"]])
  }
}
