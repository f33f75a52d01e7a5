import GRDB

extension TableInspection {
  /// The UNIQUE constraints and indexes in which rows with different keys can collide.
  ///
  /// - Throws: ``SchemaError`` for one whose values are not in the state, so that devices could
  ///   not agree on who is shown; where the table was accepted before, that one is left out.
  func uniques(_ columns: [RawColumn], in shape: TableShape) throws -> [TableShape.Unique] {
    let key = Set(shape.keyColumns.map(\.folded))
    let indexes = try Row.fetchAll(
      db,
      sql: """
        SELECT name, partial FROM pragma_index_list(?, 'main')
        WHERE "unique" AND origin <> 'pk' ORDER BY name
        """, arguments: [declared.name])
    return try indexes.compactMap { index -> TableShape.Unique? in
      let parts = try Row.fetchAll(
        db, sql: "SELECT name, coll FROM pragma_index_xinfo(?, 'main') WHERE key ORDER BY seqno",
        arguments: [index["name"] as String])
      let names = parts.map { ($0["name"] as String?)?.folded }
      // With the whole key in it, byte for byte, no two keys collide.
      let exact = parts.filter { ($0["coll"] as String).folded == "binary" }
        .compactMap { ($0["name"] as String?)?.folded }
      if key.isSubset(of: exact) { return nil }
      let isPointed = try shape.pointer.map { try asks(index["name"], whether: $0) } ?? false
      if let error = refusal(
        names, isPartial: isPointed ? false : index["partial"], columns, shape)
        ?? pointerRefusal(names, isPointed: isPointed, shape)
      {
        if isInstalled { return nil }
        throw error
      }
      return TableShape.Unique(
        columns: parts.map { part in
          let column = columns.first { $0.name.folded == (part["name"] as String).folded }
          return TableShape.IndexedColumn(
            name: part["name"], collation: part["coll"],
            defaultValue: column?.defaultValue ?? "NULL", isNotNull: column?.isNotNull ?? false)
        })
    }
  }

  private func asks(_ index: String, whether pointer: String) throws -> Bool {
    let sql = try String.fetchOne(
      db, sql: "SELECT sql FROM sqlite_master WHERE type = 'index' AND name = ?",
      arguments: [index])
    return sql?.folded.replacing("\"", with: "").hasSuffix("where \(pointer.folded) is null")
      ?? false
  }

  /// The column by which the table's rows are folded, as its indexes say: no UNIQUE index asks
  /// whether another column is NULL that stays on this device.
  func pointer(among local: Set<String>) throws -> String? {
    let indexes = try String.fetchAll(
      db,
      sql: """
        SELECT name FROM pragma_index_list(?, 'main') WHERE "unique" AND partial ORDER BY name
        """, arguments: [declared.name])
    for index in indexes {
      for name in local.sorted() where try asks(index, whether: name) { return name }
    }
    return nil
  }

  private func pointerRefusal(_ names: [String?], isPointed: Bool, _ shape: TableShape)
    -> SchemaError?
  {
    guard let pointer = shape.pointer, !isPointed else { return nil }
    return refuse(
      .uniqueBesideKey, names.first.flatMap { $0 },
      "rows are folded into \(pointer), so that rows with the same values stay in the table; let "
        + "the UNIQUE index say WHERE \(pointer) IS NULL")
  }

  private func refusal(
    _ names: [String?], isPartial: Bool, _ columns: [RawColumn], _ shape: TableShape
  ) -> SchemaError? {
    let first = names.first.flatMap { $0 }
    if isPartial {
      return refuse(
        .uniqueBesideKey, first,
        "a UNIQUE index over a part of the rows cannot sync; leave its WHERE out, as rows with "
          + "NULL never collide, or make the index a plain one")
    }
    for name in names {
      guard let name else {
        return refuse(
          .uniqueBesideKey, first,
          "a UNIQUE index over an expression cannot sync; put the value into a column of its own, "
            + "or make the index a plain one")
      }
      guard let column = columns.first(where: { $0.name.folded == name }) else { continue }
      let synced = shape.columns.first { $0.name.folded == name }
      if column.isGenerated || column.keyIndex == 0 && synced == nil {
        return refuse(
          .uniqueBesideKey, column.name,
          "a UNIQUE index over a generated or local column cannot sync, because its values do "
            + "not travel; make it an ordinary column, or the index a plain one")
      }
      if let synced, synced.rule != .lastWriter {
        return refuse(
          .uniqueBesideKey, column.name,
          "the merge computes what .\(synced.rule) shows, so that nobody can keep it unique; let it "
            + "be .lastWriter, or make the index a plain one")
      }
    }
    return nil
  }
}
