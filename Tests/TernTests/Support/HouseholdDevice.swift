import GRDB
import Tern
import TestDevice

/// What a person sees of ``SyncSchema/household``, in words.
extension Device {
  static func ofHousehold(_ id: UInt64, remotes: [any Remote] = []) throws -> Device {
    let device = try Device(DatabaseQueue(), .household, id: id, migrator: .household)
    return Device(device.database, device.replica, remotes: remotes)
  }

  /// The lists with their items, the items with their persons and tags; then all tags, and the inbox.
  var household: String {
    get throws {
      try database.read { db in
        let lists = try ItemList.filter(ItemList.Columns.deleted == false)
          .order(ItemList.Columns.name).fetchAll(db)
        var lines: [String] = []
        for list in lists {
          lines.append(list.name)
          let items = TaggedItem.all.filter(Item.Columns.list == list.id)
            .order(Item.Columns.title)
          lines += try items.fetchAll(db).map { try "  " + Self.line($0, db) }
        }
        let tags = try Tag.shown.order(Tag.Columns.name).fetchAll(db).map(\.name)
        lines.append("Tags: \(tags.joined(separator: ", "))")
        lines.append("Inbox:")
        lines += try replica.inbox(in: db).map { "  " + Self.line($0) }.sorted()
        return lines.joined(separator: "\n")
      }
    }
  }

  private static func line(_ shown: TaggedItem, _ db: Database) throws -> String {
    let person = try shown.item.person.map { try Person.fetchOne(db, key: $0)?.name ?? "nobody" }
    let tags = shown.tags.map(\.name).sorted().map { " #\($0)" }.joined()
    return shown.item.title + (person.map { " (\($0))" } ?? "") + tags
  }

  /// What happened to which row, and the rows in its way.
  private static func line(_ entry: InboxEntry) -> String {
    let name = (entry.values["title"] ?? entry.values["name"])?.string
    let key = entry.key.compactMap(\.string).joined(separator: " ")
    let others = entry.rows.map { "\($0.table) \($0.values[0])" }.joined(separator: ", ")
    return "\(entry.kind) \(entry.table) \(name ?? key), see \(others)"
  }

  /// What the index of titles holds, word by word, and what it would hold if it were made anew.
  var householdSearch: (kept: [[DatabaseValue]], rebuilt: [[DatabaseValue]]) {
    get throws {
      try database.write { db in
        try db.execute(
          sql: """
            CREATE VIRTUAL TABLE IF NOT EXISTS temp.words
            USING fts5vocab(main, itemSearch, instance)
            """)
        func words() throws -> [[DatabaseValue]] {
          try Row.fetchAll(db, sql: "SELECT * FROM temp.words ORDER BY term, doc, \"offset\"")
            .map { Array($0.databaseValues) }
        }
        let kept = try words()
        try db.execute(sql: "INSERT INTO itemSearch (itemSearch) VALUES ('rebuild')")
        return (kept, try words())
      }
    }
  }
}
