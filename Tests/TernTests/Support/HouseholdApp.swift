import Foundation
import GRDB
import Tern

// What Docs/Conflicts.md shows: the lists of a household.

struct Tag: Codable, FetchableRecord, PersistableRecord, Identifiable, Hashable, Sendable {
  enum Columns {
    static let id = Column(CodingKeys.id)
    static let name = Column(CodingKeys.name)
    static let sameAs = Column("sameAs")  // Tern's; without a property, no record writes it
  }
  var id = UUID().uuidString
  var name: String
}

struct ItemTag: Codable, FetchableRecord, PersistableRecord {
  var item: String
  var tag: String
}

struct ItemList: Codable, FetchableRecord, PersistableRecord, Identifiable, Hashable, Sendable {
  static let databaseTableName = "list"
  enum Columns {
    static let name = Column(CodingKeys.name)
    static let deleted = Column(CodingKeys.deleted)
  }
  var id = UUID().uuidString
  var name: String
  var deleted = false
}

struct Item: Codable, FetchableRecord, PersistableRecord, Identifiable, Hashable, Sendable {
  enum Columns {
    static let list = Column(CodingKeys.list)
    static let title = Column(CodingKeys.title)
    static let person = Column(CodingKeys.person)
    static let updatedAt = Column("updated_at")
  }
  var id = UUID().uuidString
  var list: String
  var title: String
  var person: String?
}

struct Person: Codable, FetchableRecord, PersistableRecord {
  var email: String
  var name: String
}

extension SyncSchema {
  static let household = SyncSchema(
    version: 1,
    tables: [
      SyncTable(Person.self), SyncTable(ItemList.self), SyncTable(ItemTag.self),
      SyncTable(Tag.self, collisions: .fold(into: Tag.Columns.sameAs)),
      SyncTable(Item.self, automatic: [Item.Columns.updatedAt]),
    ])
}

extension DatabaseMigrator {
  static var household: DatabaseMigrator {
    var migrator = DatabaseMigrator()
    migrator.registerMigration("lists") { db in
      try db.execute(
        sql: """
          CREATE TABLE person (email TEXT NOT NULL PRIMARY KEY, name TEXT NOT NULL);

          CREATE TABLE list (
            id TEXT NOT NULL PRIMARY KEY, name TEXT NOT NULL COLLATE NOCASE,
            deleted BOOLEAN NOT NULL DEFAULT 0);
          CREATE UNIQUE INDEX list_name ON list (name) WHERE deleted = 0;

          CREATE TABLE item (
            id TEXT NOT NULL PRIMARY KEY,
            list TEXT NOT NULL REFERENCES list ON DELETE CASCADE,
            title TEXT NOT NULL,
            person TEXT REFERENCES person ON DELETE SET NULL,
            updated_at TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP);
          CREATE TRIGGER item_touch AFTER UPDATE OF list, title, person ON item BEGIN
            UPDATE item SET updated_at = strftime('%Y-%m-%d %H:%M:%f') WHERE id = NEW.id;
          END;
          """)
    }
    migrator.registerMigration("tags") { db in
      try createTags(in: db)
      try db.execute(
        sql: """
          CREATE VIEW shownTag AS
            SELECT DISTINCT u.item, coalesce(t.sameAs, t.id) AS tag
            FROM itemTag AS u JOIN tag AS t ON t.id = u.tag;
          """)
    }
    migrator.registerMigration("search and reminders") { db in
      try db.create(virtualTable: "itemSearch", using: FTS5()) { table in
        table.synchronize(withTable: "item")
        table.column("title")
      }
      // Of this device: not in the schema.
      try db.execute(
        sql: """
          CREATE TABLE reminder (
            id INTEGER PRIMARY KEY, item TEXT NOT NULL REFERENCES item ON DELETE CASCADE,
            time TEXT NOT NULL)
          """)
    }
    return migrator
  }
}

/// A part of a migration.
func createTags(in db: Database) throws {
  try db.create(table: "tag") { table in
    table.primaryKey("id", .text)
    table.column("name", .text).notNull().collate(.nocase)
    table.column("sameAs", .text)
  }
  try db.create(
    index: "tag_name", on: "tag", columns: ["name"], options: .unique,
    condition: Tag.Columns.sameAs == nil)
  try db.create(table: "itemTag") { table in
    table.column("item", .text).notNull().references("item", onDelete: .cascade)
    table.column("tag", .text).notNull().indexed().references("tag", onDelete: .cascade)
    table.primaryKey(["item", "tag"])
  }
}

/// The view, which has each tag of an item once.
struct ShownTag: TableRecord {
  static let item = belongsTo(Item.self, using: ForeignKey(["item"]))
  static let tag = belongsTo(Tag.self, using: ForeignKey(["tag"]))
}

extension Item {
  static let shownTags = hasMany(ShownTag.self, using: ForeignKey(["item"]))
  static let tags = hasMany(Tag.self, through: shownTags, using: ShownTag.tag)
}

extension Tag {
  static let shownTags = hasMany(ShownTag.self, using: ForeignKey(["tag"]))
  static let items = hasMany(Item.self, through: shownTags, using: ShownTag.item)

  /// Each tag once.
  static let shown = filter(Columns.sameAs == nil)

  /// All rows that count as one tag with this one, itself too.
  var rows: QueryInterfaceRequest<Tag> {
    let winner = Tag.filter(Columns.id == id).select(Columns.sameAs ?? Columns.id)
    return Tag.filter(winner.contains(Columns.id) || winner.contains(Columns.sameAs))
  }

  /// The one of them that is shown.
  var current: QueryInterfaceRequest<Tag> { rows.filter(Columns.sameAs == nil) }
}

struct TaggedItem: Decodable, FetchableRecord {
  var item: Item
  var tags: [Tag]

  static let all = Item.including(all: Item.tags).asRequest(of: TaggedItem.self)
}

extension Tag {
  func rename(to name: String, in db: Database) throws {
    _ = try rows.updateAll(db, Columns.name.set(to: name))
  }

  func deleteAll(in db: Database) throws {
    _ = try rows.deleteAll(db)
  }

  /// Makes one tag of two, under the other's name.
  func join(_ other: Tag, in db: Database) throws {
    guard let other = try other.current.fetchOne(db) else { return }
    _ = try rows.filter(Columns.id != other.id)
      .updateAll(db, Columns.name.set(to: other.name), Columns.sameAs.set(to: other.id))
  }

  /// Takes the tag off an item.
  func remove(from item: Item, in db: Database) throws {
    _ = try ItemTag.filter(Column("item") == item.id)
      .filter(rows.select(Columns.id).contains(Column("tag"))).deleteAll(db)
  }
}

/// The tag of this name, which is made if there is none.
func tag(named name: String, in db: Database) throws -> Tag {
  try Tag.fetchOne(
    db,
    sql: """
      INSERT INTO tag (id, name) VALUES (?, ?)
      ON CONFLICT (name) WHERE sameAs IS NULL DO UPDATE SET name = name
      RETURNING *
      """,
    arguments: [UUID().uuidString, name])!
}

/// A list that is kept out, since another has its name: its items go to that one.
func joinLists(_ entry: InboxEntry, _ replica: Replica, in db: Database) throws {
  guard let other = entry.rows.first?.values.first else { return }
  for item in try replica.inbox(of: [.parentMissing], in: db)
  where item.belongs(to: Item.self) && item.values["list"] == entry.key[0] {
    try replica.show(item, with: [Item.Columns.list: other], in: db)
  }
  try replica.discard(entry, in: db)
}
