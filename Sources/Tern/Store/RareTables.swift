import Foundation

/// A table that comes with the first row that is written to it.
struct RareTable: Sendable {
  let name: String
  private let list: String
  /// Also WITHOUT ROWID, where the key is not the rowid by itself.
  let key: String?
  let index: String?

  /// - Parameter columns: as SQL has them.
  init(_ name: String, _ columns: String, key: String? = nil, index: String? = nil) {
    (self.name, list, self.key, self.index) = (name, columns, key, index)
  }

  /// Each begins with its name.
  var columns: [Substring] { list.split(separator: ",").map { $0.drop { $0 == " " } } }

  var creation: [String] {
    let end = key.map { ", PRIMARY KEY (\($0))) WITHOUT ROWID" } ?? ")"
    let table = "CREATE TABLE \(name) (\(list)\(end)"
    return [table] + (index.map { ["CREATE INDEX \(name)_row ON \(name) (\($0))"] } ?? [])
  }

  /// Of a WITH clause: what the table reads as while it is not there.
  var empty: String {
    let columns = columns.map { "NULL AS \($0.prefix { $0 != " " })" }
    return "\(name) AS (SELECT \(columns.joined(separator: ", ")) WHERE 0)"
  }
}

/// The tables that most files never need: each would take a page or two. ``StoreConnection`` makes
/// one as the first row is written to it, and reads one that is not there as empty.
final class RareTables: Sendable {
  let all: [RareTable]
  private let byName: [String: RareTable]
  private let prefix: [UInt8]

  init(prefix: String) {
    let row = "tbl INTEGER NOT NULL, key BLOB NOT NULL"
    all = [
      // What deleted rows held that a change may bring back.
      RareTable("\(prefix)kept", "\(row), content BLOB NOT NULL", key: "tbl, key"),
      // What drafts did to texts, until the seal.
      RareTable(
        "\(prefix)splice",
        "id INTEGER PRIMARY KEY, tbl INTEGER NOT NULL, col INTEGER NOT NULL, key BLOB NOT NULL, "
          + "delta BLOB NOT NULL", index: "tbl, key, col"),
      // The first number under which a remote has another operation of an author than the log.
      RareTable(
        "\(prefix)fork", "remote TEXT NOT NULL, author INTEGER NOT NULL, sequence INTEGER NOT NULL",
        key: "remote, author"),
      // See ``ToldForkTable``.
      RareTable(
        "\(prefix)told_fork",
        "witness BLOB NOT NULL, author BLOB NOT NULL, sequence INTEGER NOT NULL",
        key: "witness, author"),
      RareTable("\(prefix)told_change", "milliseconds INTEGER PRIMARY KEY"),
      // What each remote said of its authors, as JSON, and beside it, where there are any, up to
      // where it takes those that are banned.
      RareTable(
        "\(prefix)remote_authors", "remote TEXT NOT NULL, authors BLOB NOT NULL, bans BLOB",
        key: "remote"),
      // What each remote was last known to hold, of which the log may forget.
      RareTable(
        "\(prefix)remote_head",
        "remote TEXT NOT NULL, author INTEGER NOT NULL, sequence INTEGER NOT NULL",
        key: "remote, author"),
      // Remotes that do not keep the log, whatever they were offered.
      RareTable("\(prefix)forgotten", "remote TEXT NOT NULL", key: "remote"),
      // Own operations that no undo is about.
      RareTable("\(prefix)undone", "sequence INTEGER PRIMARY KEY, is_undo INTEGER NOT NULL"),
      // What a revert took back: of an operation a row, under the column -1, and the columns of it
      // that add up or are made of edits. And what undid the revert.
      RareTable(
        "\(prefix)reverted",
        "revert INTEGER NOT NULL, \(row), id INTEGER NOT NULL, col INTEGER NOT NULL, undone INTEGER",
        key: "revert, tbl, key, id, col", index: "id, tbl, key"),
      // Rows that an own operation has as inserts, because it is the first to write to what
      // a migration brought.
      RareTable(
        "\(prefix)migrated", "\(row), sequence INTEGER NOT NULL", key: "tbl, key, sequence"),
      // Rows whose delete left children, at which nobody looked.
      RareTable("\(prefix)gone_parent", row, key: "tbl, key"),
      // See ``GoneParentTable``.
      RareTable("\(prefix)gone_local", row, key: "tbl, key"),
      // The rows for which each row quarantined waits.
      RareTable(
        "\(prefix)waits", "on_tbl INTEGER NOT NULL, on_key BLOB NOT NULL, \(row)",
        key: "on_tbl, on_key, tbl, key", index: "tbl, key"),
      // Rows quarantined at which the next settlement looks.
      RareTable("\(prefix)unsettled_row", row, key: "tbl, key"),
      // See ``VeilTable``.
      RareTable("\(prefix)veil", "\(row), content BLOB NOT NULL", key: "tbl, key"),
      // See ``DismissedTable``.
      RareTable("\(prefix)dismissed", "\(row), entry INTEGER NOT NULL", key: "tbl, key, entry"),
      // See ``FailedTriggerTable``.
      RareTable(
        "\(prefix)failed_trigger", "tbl TEXT NOT NULL, error TEXT NOT NULL, count INTEGER NOT NULL",
        key: "tbl"),
    ]
    byName = Dictionary(uniqueKeysWithValues: all.map { ($0.name, $0) })
    self.prefix = Array(prefix.utf8)
  }

  /// Those that a statement names, and where it does so first.
  func named(in sql: String) -> [(table: RareTable, offset: Int)] {
    var sql = sql
    return sql.withUTF8 { bytes in
      var found: [(table: RareTable, offset: Int)] = []
      var end = 0
      while end < bytes.count {
        let start = end
        while end < bytes.count, Self.isInName(bytes[end]) { end += 1 }
        if let table = table(UnsafeBufferPointer(rebasing: bytes[start..<end])),
          !found.contains(where: { $0.table.name == table.name })
        {
          found.append((table, start))
        }
        end += 1
      }
      return found
    }
  }

  private func table(_ name: UnsafeBufferPointer<UInt8>) -> RareTable? {
    guard name.count > prefix.count, memcmp(name.baseAddress!, prefix, prefix.count) == 0
    else { return nil }
    return byName[String(decoding: name, as: UTF8.self)]
  }

  /// As Tern's names are.
  private static func isInName(_ byte: UInt8) -> Bool {
    byte >= UInt8(ascii: "a") && byte <= UInt8(ascii: "z") || byte == UInt8(ascii: "_")
      || byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9")
  }
}
