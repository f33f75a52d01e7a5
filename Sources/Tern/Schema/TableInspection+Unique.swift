import GRDB

extension TableInspection {
  /// The UNIQUE constraints and indexes in which rows with different keys can collide.
  ///
  /// Refused is one whose values are not in the state, or may be others on another device, so that
  /// devices could not agree on who is shown; where the table was accepted before, that one is
  /// left out.
  func uniques(
    _ columns: [RawColumn], in shape: TableShape, _ refusals: inout SchemaRefusals
  ) throws -> [TableShape.Unique] {
    let key = Set(shape.keyColumns.map(\.folded))
    let indexes = try Row.fetchAll(
      db,
      sql: """
        SELECT i.name, i.partial, ifnull(m.sql, '') AS sql FROM pragma_index_list(?, 'main') AS i
        LEFT JOIN main.sqlite_master AS m ON m.type = 'index' AND m.name = i.name
        WHERE i."unique" AND i.origin <> 'pk' ORDER BY i.name
        """, arguments: [declared.name])
    var uniques: [TableShape.Unique] = []
    for index in indexes {
      let parts = try Row.fetchAll(
        db, sql: "SELECT name, coll FROM pragma_index_xinfo(?, 'main') WHERE key ORDER BY seqno",
        arguments: [index["name"] as String])
      // With the whole key in it, byte for byte, no two keys collide.
      let exact = parts.filter { ($0["coll"] as String).folded == "binary" }
        .compactMap { ($0["name"] as String?)?.folded }
      if !key.isEmpty, key.isSubset(of: exact) { continue }
      do {
        // As many terms as the key has, all of the key: one stands there twice.
        if !index["partial"], exact.count == key.count, exact.count == parts.count,
          key.isSuperset(of: exact)
        {
          throw UnsupportedExpression(
            "names a column twice, and SQLite takes it for the key", column: parts[0]["name"],
            "name each column once")
        }
        let reading = IndexReading(self, columns, shape)
        let unique = try reading.unique(
          index["name"], index["sql"], parts.map { ($0["name"], $0["coll"]) },
          isPartial: index["partial"])
        if let pointer = shape.pointer, unique.computed?.isPointed != true {
          throw UnsupportedExpression(
            "keeps out rows that are folded into \(pointer)", column: unique.columns.first?.name,
            "let its WHERE be, or begin with, “\(pointer) IS NULL”")
        }
        uniques.append(unique)
      } catch let refusal as UnsupportedExpression {
        if isInstalled { continue }
        try refusals.collect {
          throw refuse(
            .uniqueBesideKey, refusal.column,
            "its UNIQUE index “\(index["name"] as String)” \(refusal.what); \(refusal.wayOut)")
        }
      }
    }
    return uniques
  }

  /// The column by which the table's rows are folded, as its indexes say: the WHERE of no other
  /// UNIQUE index names a column that stays on this device.
  func pointer(among local: Set<String>) throws -> String? {
    let indexes = try String.fetchAll(
      db,
      sql: """
        SELECT m.sql FROM pragma_index_list(?, 'main') AS i
        JOIN main.sqlite_master AS m ON m.type = 'index' AND m.name = i.name
        WHERE i."unique" AND i.partial ORDER BY i.name
        """, arguments: [declared.name])
    return indexes.lazy.compactMap { SQLText($0).indexPointer() }
      .first { name in local.contains { $0.folded == name.folded } }
  }
}
