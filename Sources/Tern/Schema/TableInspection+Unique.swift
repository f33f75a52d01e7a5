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
        let reading = IndexReading(self, columns, shape)
        uniques.append(
          try reading.unique(
            index["name"], index["sql"], parts.map { ($0["name"], $0["coll"]) },
            isPartial: index["partial"]))
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
}
